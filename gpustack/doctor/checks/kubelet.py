"""Faults of the layer `kubeadm` that lie in the kubelet: its unit, its configuration, its certificate."""

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.tells import Told, confirmed, refuted, tells
from gpustack.probes.kube import NODES
from gpustack.probes.kubeadm import BOOTSTRAP, CA, FILES, KUBELET_CONF
from gpustack.probes.kubelet import HEALTH
from gpustack.probes.kubelet_start import SHOWN, START
from gpustack.probes.leftovers import LEFTOVERS
from gpustack.probes.monitoring import TARGETS
from gpustack.probes.system import IDENTITY
from gpustack.steps.own_node import own


@tells("kubelet-no-config-yet", START, NODES)
def no_config_yet(here: View) -> Told:
    """Installed, and never made a member. Without a cluster there is nothing that it could be a member of."""
    found, what = here[START], "configuration of the kubelet"
    if found is None or found.configured:
        return refuted(what, "not installed" if found is None else "there")
    return confirmed(what, f"that of the cluster of {len(here[NODES])} nodes", "none")


@tells("kubelet-no-config-yet guard", NODES)
def cluster_to_belong_to(here: View) -> Told:
    """The inventory names the host, and the cluster that it should be part of is there."""
    count = len(here[NODES])
    return Told(count > 0, "cluster of the inventory", "there", f"{count} nodes")


@tells("st-join-failed", NODES, IDENTITY, FILES, START)
def join_failed(here: View) -> Told:
    """No node is this host, and something of a join is there. One that ended before it wrote leaves no trace."""
    node = own(here)
    if node:
        return refuted("node of this host", node.name)
    start = here[START]
    tried = [path for path in (KUBELET_CONF, BOOTSTRAP, CA) if path in here[FILES].modes]
    if not tried and not (start and start.configured):
        raise FactUnavailable("nothing tells whether a join was tried")
    return confirmed("node of this host", "one", f"none, though {tried[0] if tried else 'its kubelet is configured'}")


@tells("kubelet-unknown-flag", START, HEALTH)
def unknown_flag(here: View) -> Told:
    """By its last words, while it does not answer: older words are past."""
    found = here[START]
    if found is None or not found.unknown_flag:
        return refuted("flags of the kubelet", "not installed" if found is None else found.said or "no complaint")
    if here[HEALTH] == "ok":
        return refuted("flags of the kubelet", "the kubelet runs")
    where = f" (in {', '.join(found.files)})" if found.files else ""
    return confirmed("flags of the kubelet", "known to it", f"{found.unknown_flag}{where}", found.unknown_flag)


def stopped(here: View) -> Told:
    """The unit rests, and nothing went wrong when it last ran. One that starts and fails has a deeper reason."""
    found, what = here[START], "kubelet.service"
    if found is None or not here[LEFTOVERS].servers:
        return refuted(what, "not installed" if found is None else "the host belongs to no cluster yet")
    now = f"{found.active}, {found.file}, last result {found.result}"
    rests = found.active in ("inactive", "failed") and (found.result == "success" or found.file != "enabled")
    return Told(rests, what, "active, enabled", now)


@tells("kubelet-not-running", START, LEFTOVERS)
def not_running(here: View) -> Told:
    """Stopped by somebody."""
    return stopped(here)


@tells("kubelet-not-running guard", START, LEFTOVERS)
def was_stopped(here: View) -> Told:
    return stopped(here)


@tells("kubelet-client-cert-expired", SHOWN)
def client_certificate(here: View) -> Told:
    """The one that its credentials name, by the clock of the machine that asks."""
    found = here[SHOWN]
    if found is None:
        return refuted("certificate of the kubelet", "the host has no credentials")
    now = f"until {found.ends:%Y-%m-%d %H:%M} UTC ({found.place})"
    return Told(found.ends < here.taken, "certificate of the kubelet", "valid", now, quote="notAfter=")


@tells("st-kubelet-down -> st-target-down", TARGETS)
def kubelet_targets(here: View) -> Told:
    """Prometheus reaches all of the kubelets, or not."""
    up = here[TARGETS]["kubelet"]
    return Told(up == 0, "targets of the kubelets", "one is down", "one is down" if up == 0 else "all up")
