"""Evidence in pods, in the words of the scheduler and of the API server."""

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.doctor.check import check, expect_none
from gpustack.doctor.checks.evidence.kernel import judge_words
from gpustack.doctor.checks.gpu.driver import DRIVER_PODS
from gpustack.doctor.checks.gpu.operator import list_node_pods
from gpustack.doctor.checks.scheduling import UNNAMED_TAINT, list_shortages
from gpustack.probes.gpu.settings import SETTINGS
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES, READYZ
from gpustack.probes.kubernetes.pod_states import GPU_PODS
from gpustack.probes.kubernetes.scheduling import UNSCHEDULED_PODS
from gpustack.steps.taint import TAINT


@check("control-plane-taint-single-node -> st-pods-pending", UNSCHEDULED_PODS, NODES)
def taint_excludes_pods(view: View) -> Result:
    return judge_taint(view, gpus_only=False)


@check("control-plane-taint-single-node -> st-gpu-pods-pending", UNSCHEDULED_PODS, NODES)
def taint_excludes_gpu_pods(view: View) -> Result:
    return judge_taint(view, gpus_only=True)


def judge_taint(view: View, *, gpus_only: bool) -> Result:
    """Look for a pod that the scheduler does not place because of the taint. Newer ones do not name it."""
    is_only_taint = all(node.taints == (TAINT,) for node in view[NODES])
    messages = [
        pod.reason
        for pod in view[UNSCHEDULED_PODS]
        if (pod.gpu or not gpus_only)
        and (TAINT.partition(":")[0] in pod.reason or (UNNAMED_TAINT in pod.reason and is_only_taint))
    ]
    return expect_none("pods that the taint excludes", "none", messages[:1], "none")


@check("gpu-host-driver-conflict -> st-driver-not-ready", GPU_PODS, NODES, IDENTITY)
def driver_pod_is_not_ready(view: View) -> Result:
    """Look for a pod of the operator's driver on this node that is not ready: it replaces the driver of the host."""
    names = [pod.name for pod in list_node_pods(view, DRIVER_PODS) if not pod.ready]
    return expect_none("pods of the operator's driver", "ready or absent", names, "none that is not ready")


@check("op-mig-mixed-nvml-regression -> st-gpu-pods-pending", UNSCHEDULED_PODS)
def pods_lack_instances(view: View) -> Result:
    messages = [pod.reason for pod in view[UNSCHEDULED_PODS] if "Insufficient nvidia.com/" in pod.reason]
    return expect_none("pods that lack GPUs or MIG instances", "none", messages[:1], "none")


@check("op-crd-stale -> mon-servicemonitor-disabled", SETTINGS)
def monitor_is_dropped(view: View) -> Result:
    """Look for a ClusterPolicy that lost the field by which the operator makes the monitor."""
    field = "dcgmExporter.serviceMonitor"
    names = [settings.name for settings in view[SETTINGS] or () if field not in settings.parts]
    return expect_none(f"ClusterPolicies without {field}", "none", names, "none")


@check("etcd-slow-disk -> st-apiserver-down", READYZ)
def api_waits(view: View) -> Result:
    """Judge why the API server is not ready: it accepts the connection and answers too late, as it waits for etcd."""
    readiness = view[READYZ]
    return judge_words("readyz of the API server", "" if readiness.ready else readiness.reason, "timed out", "etcd")


@check("host-too-small -> insufficient-resources", UNSCHEDULED_PODS, NODES)
def host_lacks_resource(view: View) -> Result:
    """Look for pods that lack what the size of a host decides."""
    resources = sorted({name for _, name in list_shortages(view)} & {"cpu", "memory", "ephemeral-storage"})
    return expect_none("insufficient resources of hosts", "none", resources, "none")
