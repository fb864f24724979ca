"""Failed pods that the kubelet refused or ended: what was lost with them, and which of them nobody brings back."""

from collections.abc import Iterator
from typing import Any, Literal

from gpustack.ask.probe import Probe
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.ownership import is_platform_pod
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.doctor.states.workloads import GROUPS, USUAL_REPLACEMENT
from gpustack.probes.kubernetes.pod_states import FAILED_PODS, PodState

Origin = Literal["node", "scheduling", "request", "pod"]
# Reasons that a kubelet gives to a failed pod (kubernetes/kubernetes pkg/kubelet), by what they are the doing of: the
# node, a scheduler that did not know the node as it is, a request that this kubelet refuses, or the pod itself.
REASONS: dict[str, Origin] = {
    "UnexpectedAdmissionError": "node",  # lifecycle/predicate.go; cm/devicemanager: a device is gone
    "Evicted": "node",  # eviction/eviction_manager.go
    "Terminated": "node",  # nodeshutdown
    "NodeShutdown": "node",  # nodeshutdown, until Kubernetes 1.21
    "Preempting": "node",  # preemption/preemption.go: for a critical pod
    "InvalidNodeInfo": "node",  # lifecycle/predicate.go
    "TopologyAffinityError": "node",  # cm/topologymanager
    "NodeAffinity": "scheduling",  # lifecycle/predicate.go, and the next two
    "NodeName": "scheduling",
    "NodePorts": "scheduling",
    "PodOSNotSupported": "scheduling",  # lifecycle/predicate.go, and the next
    "PodOSSelectorNodeLabelDoesNotMatch": "scheduling",
    "SMTAlignmentError": "request",  # cm/cpumanager
    "AppArmor": "request",  # lifecycle/handlers.go
    "SysctlForbidden": "request",  # sysctl/allowlist.go
    "DeadlineExceeded": "pod",  # active_deadline.go
}
SHORTAGE = "OutOf"
"""The beginning of a reason that ends in the resource of which the node has too little (lifecycle/predicate.go)."""


def find_origin(reason: str) -> Origin | None:
    """Find what a kubelet's reason is the doing of; None for a reason that no kubelet gives."""
    return "scheduling" if reason.startswith(SHORTAGE) else REASONS.get(reason)


def observe_failed_pods(view: View) -> Iterator[AbnormalState]:
    """List failed pods with GPUs and of the platform. What a pod does by itself is for its user. One whose request the
    kubelet refuses never runs, and its controller makes others without end."""
    for pod in view[FAILED_PODS]:
        if find_origin(pod.reason) in ("node", "scheduling", "request") and (pod.gpus or is_platform_pod(view, pod)):
            yield build_state(view, pod)


def build_state(view: View, pod: PodState) -> AbnormalState:
    """Build the state of a failed pod, which is broken where nothing runs in its place."""
    severity, fate = judge_replacement(view, pod)
    return AbnormalState(
        "pod-failed",
        severity,
        (locate_node(view, pod.node),),
        (f"pod {pod}",),
        f"{pod.reason}: {pod.message}; {fate}",
        Command("kubectl", "-n", pod.namespace, "describe", "pod", pod.name),
        pod.unready_since or pod.created_at,
    )


def judge_replacement(view: View, pod: PodState) -> tuple[Severity, str]:
    """Judge whether a failed pod was replaced, and say it. Of DaemonSets and StatefulSets of the platform the pods are
    known; a Deployment may be scaled down, and says itself what it lacks."""
    if find_origin(pod.reason) == "request" and not is_platform_pod(view, pod):
        return "note", f"{pod.owner} makes others, which are refused too" if pod.owner else "its user has to change it"
    if not pod.owner:
        return "broken", "it has no controller, so that nothing starts it again"
    pods = next((group.pods for group in GROUPS if group.choose_namespace(view.spec) == pod.namespace), None)
    if not pods or not is_platform_pod(view, pod) or not pod.owner.startswith(("DaemonSet/", "StatefulSet/")):
        return "note", f"its controller is {pod.owner}"
    if any(is_replacement(candidate, pod) for candidate in view[pods]):
        return "note", f"{pod.owner} has made another one"
    failed_at = pod.unready_since or pod.created_at
    is_recent = failed_at is not None and view.started_at - failed_at < USUAL_REPLACEMENT
    return "risk" if is_recent else "broken", f"{pod.owner} has not made another one"


def is_replacement(candidate: PodState, pod: PodState) -> bool:
    """Tell whether a pod is in place of a failed one. That of a DaemonSet is on the same node."""
    is_placed = not pod.owner.startswith("DaemonSet/") or candidate.node in ("", pod.node)
    return candidate.owner == pod.owner and candidate.phase != "Failed" and not candidate.deleted and is_placed


PROBES: tuple[Probe[Any], ...] = (FAILED_PODS, *(group.pods for group in GROUPS))
OBSERVERS = (Observer("failed-pods", "Failed pods", observe_failed_pods, PROBES),)
