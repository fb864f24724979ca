"""Faults of the layer `kubeadm` in the kubelet: its unit, its configuration, and its certificate."""

from gpustack.ask.judge import Result, build_ok_result
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.control_plane.kubeadm import BOOTSTRAP, CA, FILES, KUBELET_CONF
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubelet.kubelet import HEALTH
from gpustack.probes.kubelet.start import KUBELET_CERTIFICATE, START
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.monitoring.workloads import TARGETS
from gpustack.steps.own_node import find_node

SWAP_ERROR = "running with swap on is not supported"


@check("kubelet-no-config-yet", START, NODES)
def no_config_yet(view: View) -> Result:
    """Look for an installed kubelet that never joined, where there is a cluster to join."""
    start, subject = view[START], "configuration of the kubelet"
    if start is None or start.has_config:
        return build_ok_result(subject, "not installed" if start is None else "present")
    return Result(subject, f"that of the cluster with {len(view[NODES])} nodes", "none")


@check("kubelet-no-config-yet guard", NODES)
def cluster_to_belong_to(view: View) -> Result:
    """Check that the cluster exists to which the inventory assigns the host."""
    count = len(view[NODES])
    return Result("cluster of the inventory", "present", f"{count} nodes", ok=count <= 0)


@check("st-join-failed", NODES, IDENTITY, FILES, START)
def join_failed(view: View) -> Result:
    """Look for files of a join on a host that is not a node. A join that failed before it wrote any leaves no trace."""
    node = find_node(view)
    if node:
        return build_ok_result("node of this host", node.name)
    start = view[START]
    join_files = [path for path in (KUBELET_CONF, BOOTSTRAP, CA) if path in view[FILES].modes]
    if not join_files and not (start and start.has_config):
        raise FactUnavailable("no evidence of an attempted join")
    return Result(
        "node of this host", "one", f"none, despite {join_files[0] if join_files else 'a configured kubelet'}"
    )


@check("kubelet-unknown-flag", START, HEALTH)
def unknown_flag(view: View) -> Result:
    """Judge the last log message of a kubelet that does not respond."""
    start = view[START]
    if start is None or not start.unknown_flag:
        return build_ok_result(
            "flags of the kubelet", "not installed" if start is None else start.message or "no error"
        )
    if view[HEALTH] == "ok":
        return build_ok_result("flags of the kubelet", "accepted by the kubelet")
    location = f" (in {', '.join(start.files)})" if start.files else ""
    return Result("flags of the kubelet", "known", f"{start.unknown_flag}{location}", quote=start.unknown_flag)


def judge_kubelet_unit(view: View) -> Result:
    """Look for a kubelet that was stopped on purpose: an inactive unit whose last run succeeded. A unit that starts and
    fails has another cause."""
    start, subject = view[START], "kubelet.service"
    if start is None or not view[LEFTOVERS].servers:
        return build_ok_result(subject, "not installed" if start is None else "the host is not in a cluster yet")
    actual = f"{start.active}, {start.file}, last result {start.result}"
    is_resting = start.active in ("inactive", "failed") and (start.result == "success" or start.file != "enabled")
    return Result(subject, "active, enabled", actual, ok=not is_resting)


not_running = check("kubelet-not-running", START, LEFTOVERS)(judge_kubelet_unit)
was_stopped = check("kubelet-not-running guard", START, LEFTOVERS)(judge_kubelet_unit)


@check("kubelet-client-cert-expired", KUBELET_CERTIFICATE)
def client_certificate(view: View) -> Result:
    """Judge the certificate in the kubelet's credentials by the clock of the machine that runs gpustack."""
    certificate = view[KUBELET_CERTIFICATE]
    if certificate is None:
        return build_ok_result("certificate of the kubelet", "none on this host")
    actual = f"expiry {certificate.expires_at:%Y-%m-%d %H:%M} UTC ({certificate.place})"
    return Result(
        "certificate of the kubelet", "valid", actual, ok=certificate.expires_at >= view.started_at, quote="notAfter="
    )


@check("host-swap-on -> st-kubelet-down", START)
def kubelet_refuses_swap(view: View) -> Result:
    """Judge the last error of the kubelet by its words for swap (kubernetes/kubernetes
    pkg/kubelet/cm/container_manager_linux.go)."""
    start = view[START]
    message = start.message if start else ""
    return Result("last error of the kubelet", "of another cause", message or "none", ok=SWAP_ERROR not in message)


@check("st-kubelet-down -> st-target-down", TARGETS)
def kubelet_targets(view: View) -> Result:
    """Judge whether Prometheus reaches the kubelets."""
    lowest_value = view[TARGETS]["kubelet"]
    return Result(
        "targets of the kubelets", "one is down", "one is down" if lowest_value == 0 else "all up", ok=lowest_value != 0
    )
