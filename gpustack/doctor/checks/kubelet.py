"""Faults of the layer `kubeadm` that lie in the kubelet: its unit, its configuration, its certificate."""

from gpustack.ask.judge import Result, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.control_plane.kubeadm import BOOTSTRAP, CA, FILES, KUBELET_CONF
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubelet.kubelet import HEALTH
from gpustack.probes.kubelet.start import SHOWN, START
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.monitoring.workloads import TARGETS
from gpustack.steps.own_node import own


@check("kubelet-no-config-yet", START, NODES)
def no_config_yet(here: View) -> Result:
    """Installed, but never joined. Not applicable without a cluster to join."""
    found, what = here[START], "configuration of the kubelet"
    if found is None or found.configured:
        return ok(what, "not installed" if found is None else "present")
    return Result(what, f"that of the cluster with {len(here[NODES])} nodes", "none")


@check("kubelet-no-config-yet guard", NODES)
def cluster_to_belong_to(here: View) -> Result:
    """The cluster that the inventory assigns the host to exists."""
    count = len(here[NODES])
    return Result("cluster of the inventory", "present", f"{count} nodes", ok=count <= 0)


@check("st-join-failed", NODES, IDENTITY, FILES, START)
def join_failed(here: View) -> Result:
    """The host is not a node, but has files of a join. A join that failed before it wrote any leaves no trace."""
    node = own(here)
    if node:
        return ok("node of this host", node.name)
    start = here[START]
    tried = [path for path in (KUBELET_CONF, BOOTSTRAP, CA) if path in here[FILES].modes]
    if not tried and not (start and start.configured):
        raise FactUnavailable("no evidence of an attempted join")
    return Result("node of this host", "one", f"none, despite {tried[0] if tried else 'a configured kubelet'}")


@check("kubelet-unknown-flag", START, HEALTH)
def unknown_flag(here: View) -> Result:
    """By its last log message while it does not respond."""
    found = here[START]
    if found is None or not found.unknown_flag:
        return ok("flags of the kubelet", "not installed" if found is None else found.message or "no error")
    if here[HEALTH] == "ok":
        return ok("flags of the kubelet", "accepted by the kubelet")
    where = f" (in {', '.join(found.files)})" if found.files else ""
    return Result("flags of the kubelet", "known", f"{found.unknown_flag}{where}", quote=found.unknown_flag)


def stopped(here: View) -> Result:
    """The unit rests, and nothing went wrong when it last ran. One that starts and fails has a deeper reason."""
    found, what = here[START], "kubelet.service"
    if found is None or not here[LEFTOVERS].servers:
        return ok(what, "not installed" if found is None else "the host is not in a cluster yet")
    now = f"{found.active}, {found.file}, last result {found.result}"
    rests = found.active in ("inactive", "failed") and (found.result == "success" or found.file != "enabled")
    return Result(what, "active, enabled", now, ok=not rests)


@check("kubelet-not-running", START, LEFTOVERS)
def not_running(here: View) -> Result:
    """Stopped on purpose."""
    return stopped(here)


@check("kubelet-not-running guard", START, LEFTOVERS)
def was_stopped(here: View) -> Result:
    return stopped(here)


@check("kubelet-client-cert-expired", SHOWN)
def client_certificate(here: View) -> Result:
    """The certificate in its credentials, by the clock of the machine that runs gpustack."""
    found = here[SHOWN]
    if found is None:
        return ok("certificate of the kubelet", "none on this host")
    now = f"expiry {found.ends:%Y-%m-%d %H:%M} UTC ({found.place})"
    return Result("certificate of the kubelet", "valid", now, ok=found.ends >= here.taken, quote="notAfter=")


@check("st-kubelet-down -> st-target-down", TARGETS)
def kubelet_targets(here: View) -> Result:
    """Whether Prometheus reaches the kubelets."""
    up = here[TARGETS]["kubelet"]
    return Result("targets of the kubelets", "one is down", "one is down" if up == 0 else "all up", ok=up != 0)


CHECKS = (
    no_config_yet,
    cluster_to_belong_to,
    join_failed,
    unknown_flag,
    not_running,
    was_stopped,
    client_certificate,
    kubelet_targets,
)
