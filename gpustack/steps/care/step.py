"""Care: NVIDIA's diagnostic runs on idle GPUs once a day, if care.enabled asks for it.

A CronJob for each node with GPUs starts `dcgmi diag` of DCGM's image, level 1, at care.hour UTC. Its pod requests all
GPUs of the node: while a pod of a user has one, it waits ten minutes, and the node is skipped that day. It has the
lowest priority, so that no pod of a user waits for it. kube-state-metrics tells how the Job ended: the series
gpustack:node_care_result:info says passed, failed, skipped or unknown, and GpuCareFailed, GpuCareUnknown and
GpuCareStale are its alerts. With care.enabled: false this step removes all of it.

Nodes with MIG instances or shared GPUs are left out, and so are nodes that are not in the inventory.

Settings: care, gpu.namespace. Sources: docs/care.md; Kubernetes' documentation of Jobs, pod failure policies and
CronJobs; DCGM 4.6.0, dcgmi/Diag.cpp.
"""

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.host.system import IDENTITY
from gpustack.steps.applied_objects import find_object_mismatch
from gpustack.steps.care.objects import KINDS, build_objects, explain_left_out, group_objects, list_leftovers
from gpustack.steps.step import Step


def objects_applied(view: View) -> Result | None:
    """Nodes with GPUs have a CronJob of the diagnostic each, which matches this release and the spec."""
    for kind, objects in group_objects(build_objects(view)).items():
        if result := find_object_mismatch(f"{kind} of the diagnostic", objects, view[KINDS[kind][1]]):
            return result
    return None


def left_out(view: View) -> Result | None:
    """A node whose GPUs are not tested is named, with the reason."""
    reasons = explain_left_out(view) if view.spec.care.enabled else {}
    if not reasons:
        return None
    words = "; ".join(f"{node}: {reason}" for node, reason in sorted(reasons.items()))
    return build_ok_result("nodes without the daily diagnostic", words)


def leftovers(view: View) -> Result | None:
    """The cluster has no CronJob of a node that is gone or left out, and none at all with care.enabled: false."""
    names = [f"{kind} {name.lstrip('/')}" for kind, name in list_leftovers(view)]
    return Result("objects of the diagnostic that nothing asks for", "none", format_value(names)) if names else None


STEP = Step(
    "care",
    scope="cluster",
    probes=(*(probe for _, probe in KINDS.values()), GPU_NODES, IDENTITY, GPU_DEVICES),
    checks=(objects_applied, left_out, leftovers),
    needs=("monitoring", "gpu-operator", "gpu-plugin"),
    settle_seconds=10,
    is_enabled=lambda inventory: inventory.spec.monitoring.enabled,
)
