"""Failed pods that the kubelet refused or ended: what was lost with them, and which of them nobody brings back."""

from collections.abc import Iterator
from typing import Literal

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.ownership import is_platform_pod
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.kubernetes.pod_states import FAILED_PODS, PodState

Origin = Literal["node", "scheduling", "pod"]
# Reasons that a kubelet gives to a failed pod (kubernetes/kubernetes pkg/kubelet), by what they are the doing of: the
# node, a scheduler that did not know the node as it is, or the pod itself.
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
    "SMTAlignmentError": "pod",  # cm/cpumanager
    "AppArmor": "pod",  # lifecycle/handlers.go
    "SysctlForbidden": "pod",  # sysctl/allowlist.go
    "DeadlineExceeded": "pod",  # active_deadline.go
}
SHORTAGE = "OutOf"
"""The beginning of a reason that ends in the resource of which the node has too little (lifecycle/predicate.go)."""


def find_origin(reason: str) -> Origin | None:
    """Find what a kubelet's reason is the doing of; None for a reason that no kubelet gives."""
    return "scheduling" if reason.startswith(SHORTAGE) else REASONS.get(reason)


def observe_failed_pods(view: View) -> Iterator[AbnormalState]:
    """List failed pods with GPUs and of the platform. What a pod does by itself is for its user."""
    for pod in view[FAILED_PODS]:
        if find_origin(pod.reason) in ("node", "scheduling") and (pod.gpus or is_platform_pod(view, pod)):
            yield build_state(view, pod)


def build_state(view: View, pod: PodState) -> AbnormalState:
    """Build the state of a failed pod, which is broken where it has no controller that makes another one."""
    severity: Severity = "note" if pod.owner else "broken"
    fate = f"{pod.owner} makes another one" if pod.owner else "it has no controller, so that nothing starts it again"
    return AbnormalState(
        "pod-failed",
        severity,
        (locate_node(view, pod.node),),
        (f"pod {pod}",),
        f"{pod.reason}: {pod.message}; {fate}",
        Command("kubectl", "-n", pod.namespace, "describe", "pod", pod.name),
        pod.unready_since or pod.created_at,
    )


OBSERVERS = (Observer("failed-pods", "Failed pods", observe_failed_pods, (FAILED_PODS,)),)
