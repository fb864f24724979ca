"""Faults of the layer `kube-proxy`: Services that do not work on a host, and missing rules."""

from gpustack.ask.judge import Result, build_ok_result
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Command, Hint, Prose
from gpustack.doctor.check import check
from gpustack.doctor.checks.node_lookup import list_own_node_entries
from gpustack.doctor.checks.startup import require_settled_api
from gpustack.probes.control_plane.control_plane import STATIC_PODS
from gpustack.probes.control_plane.kubeadm import FILES, UNFINISHED_CONFIG
from gpustack.probes.firewall.service_rules import PROXY, PROXY_SET, Proxy
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubelet.join_endpoint import API_PATHS
from gpustack.probes.kubelet.kubelet import HEALTH
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.kubernetes.nodes import NODES, READYZ
from gpustack.probes.kubernetes.pod_states import SYSTEM_PODS, PodState
from gpustack.probes.kubernetes.proxy_error import PROXY_ERROR, ProxyError

LONGEST_PAUSE_S = 300
"""The longest pause between two attempts: the kubelet's back-off of a container that ends."""


@check("kube-proxy-down", PROXY, LEFTOVERS, FILES, HEALTH, READYZ, PROXY_SET, NODES, IDENTITY, SYSTEM_PODS, PROXY_ERROR)
def kube_proxy_down(view: View) -> Result:
    """Check that kube-proxy listens and has its rules. Raise FactUnavailable if nothing could have started it."""
    proxy, subject = view[PROXY], "kube-proxy"
    if not view[LEFTOVERS].servers:
        return build_ok_result(subject, "the host is not in a cluster yet")
    if not view[FILES].lacks(UNFINISHED_CONFIG):
        raise FactUnavailable("kubeadm, which adds it at its end, has not finished")
    missing_rules = find_missing_rules(proxy, view.spec.kube_proxy.mode)
    if proxy.listening:
        return Result("rules of kube-proxy", "in the kernel", missing_rules or "in the kernel", ok=not missing_rules)
    if not missing_rules and (view[HEALTH] != "ok" or not view[READYZ].ready):
        raise FactUnavailable("the kubelet or the API, which start it, are down")
    return judge_silence(view, f"not listening, {missing_rules}" if missing_rules else "not listening")


def judge_silence(view: View, silence: str) -> Result:
    """Judge a kube-proxy that does not listen. A restart is the remedy of one that hangs. One that ended by itself ends
    again, for a reason that its last error names."""
    subject, expected = "kube-proxy", "listening on port 10256"
    if absence := explain_absence(view):
        return Result(subject, expected, silence, person=absence)
    if not (view.has_fact(SYSTEM_PODS) and view.has_fact(PROXY_ERROR)):
        return Result(subject, expected, silence, certain=False)
    pods = [pod for pod in list_own_node_entries(view, SYSTEM_PODS) if pod.labels.get("k8s-app") == "kube-proxy"]
    problems = list(filter(None, map(describe_pod, pods))) if pods else ["no pod of it on this node"]
    last_error = view[PROXY_ERROR] if pods else None
    if not problems and (last_error is None or is_over(last_error)):
        return Result(subject, expected, silence)
    reasons = Command("kubectl", "-n", "kube-system", "describe", "pods,daemonset", "-l", "k8s-app=kube-proxy")
    return Result(
        subject,
        expected,
        "; ".join(filter(None, (silence, *problems, last_error.message if last_error else ""))),
        person=Prose("no restart corrects what ends or is missing by itself: {} and its log name the reason", reasons),
        certain=False,
    )


def is_over(error: ProxyError) -> bool:
    """Tell whether a program that runs would have logged the error again. kube-proxy logs at each start that its
    configuration has no nodePortAddresses (kubernetes/kubernetes cmd/kube-proxy/app/server.go)."""
    return error.seconds_ago is not None and error.seconds_ago > LONGEST_PAUSE_S


def describe_pod(pod: PodState) -> str:
    """Describe how the last run of kube-proxy ended with an error, or else why its container waits. Return an empty
    text for neither."""
    for container in pod.containers:
        if container.exit_code:
            reason = (container.reason if container.ended else container.last_reason) or "no reason"
            return f"ended with exit code {container.exit_code} ({reason}), {container.restarts} restarts"
        if not container.started_at and container.reason:
            return container.reason
    return ""


def explain_absence(view: View) -> Hint:
    """Explain why no restart brings kube-proxy to this host. Return an empty hint where that is not so, or unknown."""
    if not (view.has_fact(PROXY_SET) and view.has_fact(NODES)):
        return NO_HINT
    daemon_set = view[PROXY_SET]
    if daemon_set is None:
        return Prose(
            "the cluster has no DaemonSet kube-proxy; kubeadm init phase addon kube-proxy on the control plane"
        )
    if not daemon_set.is_restricted or daemon_set.desired_pods >= len(view[NODES]):
        return NO_HINT
    change = Command("kubectl", "-n", "kube-system", "edit", "daemonset", "kube-proxy")
    return Prose("an affinity or a selector excludes nodes from its DaemonSet; {}", change)


def find_missing_rules(proxy: Proxy, mode: str) -> str:
    """Describe the missing rules of kube-proxy, or return an empty text. Rules outlive kube-proxy, so it may have
    stopped before."""
    if mode == "nftables":
        return "" if proxy.table else "no table kube-proxy"
    rules = proxy.nft if proxy.nft.total >= proxy.legacy.total else proxy.legacy
    if not rules.services:
        return "no rule in KUBE-SERVICES"
    return "" if rules.jumps > 1 else f"{rules.jumps} of 2 jumps into KUBE-SERVICES"


@check("st-service-ip-broken", API_PATHS, STATIC_PODS)
def service_address(view: View) -> Result:
    """Check the Service address of the API. Raise FactUnavailable without the API itself, and while kube-proxy may not
    know of its restart."""
    api, service = view[API_PATHS]["api"], view[API_PATHS]["service"]
    if not api.connected and api.curl_rc:
        raise FactUnavailable(f"the API server itself is not reached: {api.reason}")
    is_working = service.connected or service.curl_rc == 0
    if not is_working:
        require_settled_api(view)
    return Result(
        f"connection to {service.place}",
        "established",
        "established" if is_working else service.reason or "none",
        ok=bool(is_working),
    )


@check("st-service-ip-broken -> mon-admission-webhook-down", FILES)
def on_control_plane(view: View) -> Result:
    """Tell whether the API server that calls the webhook is running on this host."""
    has_api_server = view[FILES].api_server
    return Result(
        "API server", "on this node", "on this node" if has_api_server else "on another node", ok=not has_api_server
    )
