"""Pods that wait for a node, in the scheduler's words, and pods without a sandbox, in those of the kubelet."""

from collections.abc import Iterator
from datetime import timedelta

from gpustack.ask.judge import format_value
from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.ownership import is_platform_pod
from gpustack.doctor.states.state import AbnormalState, Kind, Observer, Severity
from gpustack.probes.gpu.cluster import GPU_NODES, RESOURCE
from gpustack.probes.kubernetes.nodes import NODES, list_unready_nodes
from gpustack.probes.kubernetes.pod_states import PENDING_PODS, PodState
from gpustack.probes.kubernetes.pods import SANDBOX_FAILURES, STARTING_PODS
from gpustack.probes.kubernetes.scheduling import UNSCHEDULED_PODS
from gpustack.probes.kubernetes.taints import CORDON
from gpustack.probes.kubernetes.unbound_claims import UNBOUND_CLAIMS
from gpustack.steps.platform_namespaces import list_platform_namespaces

USUAL_START = timedelta(seconds=60)


def list_waiting_pods(view: View) -> Iterator[PodState]:
    """List the pods that were created more than a minute ago and have not started."""
    return (pod for pod in view[PENDING_PODS] if has_waited(view, pod) and not pod.deleted)


def has_waited(view: View, pod: PodState) -> bool:
    return pod.created_at is not None and view.started_at - pod.created_at > USUAL_START


def observe_unscheduled_pods(view: View) -> Iterator[AbnormalState]:
    """List pods for GPUs and those in the namespaces of the platform that have no node. A user's pod may wait until a
    GPU is free; it is broken while a cordoned node keeps GPUs from it. In the first minute a pod of the platform is no
    more than a risk, and one of a user is not listed."""
    gpus = {node.name: node.allocatable for node in view[GPU_NODES]}
    cordoned_nodes = [node.name for node in view[NODES] if any(taint.startswith(CORDON) for taint in node.taints)]
    keeps_gpus = any(gpus.get(name) for name in cordoned_nodes)
    lost_nodes = find_lost_nodes(view)
    for pod in view[PENDING_PODS]:
        is_broken = is_platform_pod(view, pod) or (pod.gpus > 0 and keeps_gpus)
        is_reported = pod.namespace in list_platform_namespaces(view) or (is_for_gpus(pod) and has_waited(view, pod))
        reason = find_reason(view, pod)
        if reason and is_reported and not pod.deleted:
            broken_severity: Severity = "broken" if has_waited(view, pod) else "risk"
            severity: Severity = broken_severity if is_broken else "note"
            if node := lost_nodes.get(str(pod)):
                severity, reason = "note", f"its DaemonSet made it for node {node}, which is not Ready: {reason}"
            yield build_state(pod, "pod-unscheduled", severity, CLUSTER, reason)


def find_lost_nodes(view: View) -> dict[str, str]:
    """Find the node of each pod that a DaemonSet made for a node that is not Ready: it waits for that node alone."""
    unready_nodes = list_unready_nodes(view[NODES])
    pods = view[UNSCHEDULED_PODS] if view.has_fact(UNSCHEDULED_PODS) else ()
    return {f"{pod.namespace}/{pod.name}": pod.only_node for pod in pods if pod.only_node in unready_nodes}


def is_for_gpus(pod: PodState) -> bool:
    """Tell whether a pod wants GPUs: it requests some, or claims devices, of which the API does not say the kind."""
    return pod.gpus > 0 or bool(pod.claims)


def find_reason(view: View, pod: PodState) -> str:
    """Find why a pod has no node, in the scheduler's words and with the gates that keep it from them; empty where it
    has one, or where its scheduler may judge it yet. One of a scheduler that does not run has no condition at all."""
    if pod.unscheduled_reason and pod.gates:
        return f"{pod.unscheduled_reason}: {format_value(pod.gates)}"
    if not pod.unscheduled_reason and not pod.seen and pod.scheduler and has_waited(view, pod):
        return describe_silence(view, pod)
    names = describe_other_names(view, pod)
    return f"{pod.unscheduled_reason.removesuffix('.')}; {names}" if names else pod.unscheduled_reason


def describe_silence(view: View, pod: PodState) -> str:
    """Describe why a pod has no condition: its scheduler does not run, or waits itself until a volume was made for a
    claim on the node that it chose (pkg/scheduler/framework/plugins/volumebinding, PreBind)."""
    claims = view[UNBOUND_CLAIMS] if view.has_fact(UNBOUND_CLAIMS) else ()
    names = [str(claim) for claim in claims if claim.namespace == pod.namespace]
    if names:
        return f"{pod.scheduler} has not placed it, and may wait for the volume of {format_value(names)}"
    return f"no scheduler has judged it: its schedulerName is {pod.scheduler}"


def describe_other_names(view: View, pod: PodState) -> str:
    """Describe by which other name nodes offer their GPUs, where the scheduler has no node for a pod with some: one
    that requests the former name waits for ever."""
    names = sorted({node.resource for node in view[GPU_NODES] if node.allocatable} - {RESOURCE})
    return f"nodes offer their GPUs as {format_value(names)}" if names and pod.gpus and pod.unscheduled_reason else ""


def observe_sandboxes(view: View) -> Iterator[AbnormalState]:
    """List pods whose sandbox fails, with the kubelet's last message."""
    failures = view[SANDBOX_FAILURES]
    messages = {
        (pod.namespace, pod.name): failures[pod.uid]
        for pod in view[STARTING_PODS]
        if pod.uid in failures and not pod.begun
    }
    for pod in list_waiting_pods(view):
        if message := messages.get((pod.namespace, pod.name)):
            severity: Severity = "broken" if is_platform_pod(view, pod) else "note"
            yield build_state(pod, "sandbox-not-created", severity, locate_node(view, pod.node), message)


def build_state(pod: PodState, kind: Kind, severity: Severity, location: str, message: str) -> AbnormalState:
    command = Command("kubectl", "-n", pod.namespace, "describe", "pod", pod.name)
    return AbnormalState(kind, severity, (location,), (f"pod {pod}",), message, command, pod.created_at)


OBSERVERS = (
    Observer(
        "unscheduled-pods",
        "Pods without a node",
        observe_unscheduled_pods,
        (PENDING_PODS, GPU_NODES, NODES, UNBOUND_CLAIMS, UNSCHEDULED_PODS),
    ),
    Observer("sandboxes", "Sandboxes of pods", observe_sandboxes, (PENDING_PODS, STARTING_PODS, SANDBOX_FAILURES)),
)
