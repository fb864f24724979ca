"""A fault of the layer `gpu-host` that pods show: a node takes pods with GPUs, and its kubelet rejects each of them."""

from datetime import timedelta

from gpustack.ask.judge import Result, build_ok_result
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.gpu.driver import NO_GPU, find_gpu_node
from gpustack.doctor.checks.node_lookup import list_node_entries
from gpustack.doctor.starting import USUAL_SECONDS
from gpustack.events import format_count
from gpustack.probes.gpu.cluster import ADMISSION_ERROR, GPU_NODES, RESOURCES
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubernetes.pod_states import FAILED_PODS, PodState

LEAST_PODS = 3
RECENT_TIME = timedelta(minutes=30)


@check("gpu-node-rejects-pods", GPU_NODES, IDENTITY, FAILED_PODS, UNITS)
def rejects_pods(view: View) -> Result:
    """Count the pods with GPUs that the kubelet rejected within half an hour, on a node that offers GPUs. Those that it
    rejects while it starts were bound to the node before."""
    node = find_gpu_node(view)
    if node is None or not (node.allocatable or node.slices):
        return build_ok_result("pods with GPUs that the kubelet rejected", NO_GPU)
    pods = list_rejected_pods(view, node.name)
    subject = f"pods with GPUs that the kubelet rejected within {RECENT_TIME.seconds // 60} min"
    if len(pods) < LEAST_PODS:
        return build_ok_result(subject, str(len(pods)))
    newest_pod = max(pods, key=lambda pod: str(pod.created_at))
    return Result(
        subject,
        f"fewer than {LEAST_PODS}",
        f"{format_count(len(pods), 'pod')}, such as {newest_pod}: {newest_pod.message}",
    )


def list_rejected_pods(view: View, node: str) -> list[PodState]:
    """List the rejected pods that were made within RECENT, and once the kubelet had started. Raise FactUnavailable
    where pods were rejected and it is not known when the kubelet started."""
    pods = [
        pod
        for pod in list_node_entries(view, FAILED_PODS, node)
        if pod.reason == ADMISSION_ERROR
        and RESOURCES in pod.message
        and pod.created_at
        and view.started_at - pod.created_at < RECENT_TIME
    ]
    if not pods:
        return []
    kubelet = view[UNITS].get("kubelet")
    if kubelet is None or kubelet.age is None:
        raise FactUnavailable("it is not known when the kubelet was started")
    ready_at = view.started_at - timedelta(seconds=kubelet.age - USUAL_SECONDS)
    return [pod for pod in pods if pod.created_at and pod.created_at > ready_at]
