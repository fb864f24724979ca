"""Devices of containers that the kubelet does not call healthy, as their plugins report them (KEP-4680)."""

from collections.abc import Iterator

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.states.node_hosts import locate_node
from gpustack.doctor.states.ownership import is_platform_pod
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.kubernetes.pod_states import FAILED_PODS, PENDING_PODS, PLATFORM_PODS, PodState

POD_LISTS = (*PLATFORM_PODS, PENDING_PODS, FAILED_PODS)
UNHEALTHY_STATE = "Unhealthy"


def observe_devices(view: View) -> Iterator[AbnormalState]:
    """List the containers with such devices, of pods of the platform, and of all that wait or failed. A list that is
    unavailable is unknown to the observers of containers."""
    pods = {str(pod): pod for probe in POD_LISTS if view.has_fact(probe) for pod in view[probe]}
    for pod in pods.values():
        yield from list_states(view, pod)


def list_states(view: View, pod: PodState) -> Iterator[AbnormalState]:
    """List the states of a pod's containers. A device of which the health is Unknown may be healthy, as while its
    plugin is replaced."""
    for container in pod.containers:
        if not container.devices:
            continue
        is_unhealthy = any(device.endswith(UNHEALTHY_STATE) for device in container.devices)
        severity: Severity = "broken" if is_unhealthy and is_platform_pod(view, pod) else "note"
        yield AbnormalState(
            "device-unhealthy",
            severity,
            (locate_node(view, pod.node),),
            (f"pod {pod}, devices of container {container.name}",),
            "; ".join(container.devices),
            Command("kubectl", "-n", pod.namespace, "get", "pod", pod.name, "-o", "yaml"),
        )


OBSERVERS = (Observer("device-health", "Health of devices", observe_devices, POD_LISTS),)
