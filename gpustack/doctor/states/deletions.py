"""Pods that were deleted and do not end. A pod in its place, such as that of a DaemonSet, is made when it has ended."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from gpustack.ask.judge import format_value
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.ownership import is_platform_pod
from gpustack.doctor.states.state import AbnormalState, Observer
from gpustack.events import format_count
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pod_states import ENDING_PODS, PLATFORM_PODS, PodState
from gpustack.times import format_duration

USUAL_END = timedelta(minutes=2)
"""The time within which a pod is gone, from the end of its grace period."""


def observe_deletions(view: View) -> Iterator[AbnormalState]:
    """List pods that should have ended. Those of a node that is not Ready end when its kubelet is back. One that keeps
    GPUs and need not end soon is a note: others wait for it."""
    ready_nodes = {node.name for node in view[NODES] if node.ready}
    for pod in list_pods(view):
        is_late = pod.ends_by is not None and view.started_at - pod.ends_by > USUAL_END
        if is_late and (pod.finalizers or pod.node in ready_nodes):
            yield build_state(view, pod)
        elif pod.ends_by is not None and pod.ends_by - view.started_at > USUAL_END and holds_gpus(pod):
            yield build_patient_state(view, pod, pod.ends_by)


def build_patient_state(view: View, pod: PodState, ends_by: datetime) -> AbnormalState:
    remaining_time = format_duration((ends_by - view.started_at).total_seconds())
    message = (
        f"it was deleted, and may run on for {remaining_time} (terminationGracePeriodSeconds); "
        f"no other pod gets its {format_count(pod.gpus, 'GPU')} until it ends"
    )
    return replace(build_state(view, pod), severity="note", message=message, onset=None)


def list_pods(view: View) -> Iterator[PodState]:
    """List the pods of the platform, and those of users with GPUs that run on, each once."""
    pods = {str(pod): pod for probe in PLATFORM_PODS if view.has_fact(probe) for pod in view[probe]}
    ending_pods = view[ENDING_PODS] if view.has_fact(ENDING_PODS) else ()
    yield from ({str(pod): pod for pod in ending_pods if pod.gpus} | pods).values()


def holds_gpus(pod: PodState) -> bool:
    """Tell whether a container of a pod with GPUs still runs, so that no other pod gets them."""
    return pod.gpus > 0 and any(container.started_at for container in pod.containers)


def build_state(view: View, pod: PodState) -> AbnormalState:
    return AbnormalState(
        "pod-not-ended",
        "broken" if is_platform_pod(view, pod) or holds_gpus(pod) else "note",
        (locate_node(view, pod.node),),
        (f"pod {pod}",),
        describe_wait(pod),
        Command("kubectl", "-n", pod.namespace, "describe", "pod", pod.name),
        pod.ends_by,
    )


def describe_wait(pod: PodState) -> str:
    gpus = f"; no other pod gets its {format_count(pod.gpus, 'GPU')}" if holds_gpus(pod) else ""
    if pod.finalizers:
        return f"it was deleted, and waits for what has set its finalizers {format_value(pod.finalizers)}{gpus}"
    running_names = [container.name for container in pod.containers if container.started_at]
    state = f"still runs {format_value(running_names)}" if running_names else "has not finished its end"
    return f"it was deleted, and the kubelet of {pod.node} {state}{gpus}"


OBSERVERS = (Observer("deletions", "Pods that were deleted", observe_deletions, (NODES, ENDING_PODS, *PLATFORM_PODS)),)
