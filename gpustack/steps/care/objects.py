"""The objects of the step care: a CronJob for each node whose GPUs are tested, and the priority of its pods.

A pod requests all GPUs of its node, so that the scheduler starts it on idle ones alone. A Job that did not complete has
a reason in its condition Failed (kubernetes/api batch/v1/types.go, JobReasonPodFailurePolicy and its neighbours):

- PodFailurePolicy: a test of the diagnostic failed.
- BackoffLimitExceeded: the diagnostic could not run.
- DeadlineExceeded: no pod started in time, because GPUs were in use or the node takes no pods; or there was no pod.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from gpustack.ask.probe import FactUnavailable, Probe
from gpustack.ask.view import View
from gpustack.probes.gpu.cluster import GPU_NODES, RESOURCE
from gpustack.probes.gpu.engine_pods import format_image
from gpustack.probes.kubernetes.applied_objects import CRON_JOBS, PRIORITY_CLASSES, AppliedObject
from gpustack.probes.kubernetes.taints import GATE_TOLERATION, USER_TOLERATIONS
from gpustack.steps.applied_objects import Object, build_object
from gpustack.steps.care.diagnostic import FAILED_STATUS, build_script
from gpustack.steps.gpu.hosts import count_host_gpus, map_gpu_nodes, select_sharing
from gpustack.vocabulary.care_jobs import PREFIX

PRIORITY_CLASS = "gpu-care"
LONGEST_NAME = 52
"""The longest name of a CronJob: its Jobs get eleven characters more (kubernetes/kubernetes
pkg/apis/batch/validation)."""
PRIORITY = -1_000_000
"""Any pod of a user may take the GPUs of the diagnostic, and the diagnostic takes none from a pod."""
CONTAINER = "diag"
WAIT_LIMIT, RUN_LIMIT, LATE_START = 600, 480, 3600
"""Seconds: of a Job with its wait for idle GPUs, of a pod with the pull of its image, and after the hour of the
schedule. GpuPodsPending waits 900 s."""
SCRIPT = build_script()
KINDS: Mapping[str, tuple[str, Probe[Mapping[str, AppliedObject] | None]]] = {
    "PriorityClass": ("scheduling.k8s.io/v1", PRIORITY_CLASSES),
    "CronJob": ("batch/v1", CRON_JOBS),
}


def build_objects(view: View) -> list[Object]:
    """Build the objects that are to exist. Raise FactUnavailable where the hosts with GPUs are unknown."""
    counts = count_tested_gpus(view) if view.spec.care.enabled else {}
    if not counts:
        return []
    content: Object = {
        "value": PRIORITY,
        "preemptionPolicy": "Never",
        "description": "The daily diagnostic of idle GPUs, of gpustack.",
    }
    priority_class = build_object("PriorityClass", KINDS["PriorityClass"][0], "", PRIORITY_CLASS, {}, content)
    return [priority_class, *(build_cron_job(view, node, count) for node, count in sorted(counts.items()))]


def count_tested_gpus(view: View) -> dict[str, int]:
    """Count the GPUs of the nodes that are tested, as their hosts have them, by node: a GPU that is lost today is
    expected tomorrow."""
    left_out = explain_left_out(view)
    counts = count_host_gpus(view)
    return {node.name: counts[host] for host, node in map_gpu_nodes(view).items() if node.name not in left_out}


def explain_left_out(view: View) -> Mapping[str, str]:
    """Explain by node why its GPUs are not tested: what a pod requests there are not whole GPUs, or the name is too
    long."""
    return view.compute_once(compute_left_out)


def compute_left_out(view: View) -> Mapping[str, str]:
    counts, reasons = count_host_gpus(view), dict[str, str]()
    for host, node in map_gpu_nodes(view).items():
        member = view.select_host(host).host
        if member.spec.gpustack_mig or node.slices:
            reasons[node.name] = "MIG instances"
        elif select_sharing(view, member)[0] != "none" or node.capacity > counts[host]:
            reasons[node.name] = "shared GPUs"
        elif len(format_name(node.name)) > LONGEST_NAME:
            reasons[node.name] = f"a name of more than {LONGEST_NAME - len(PREFIX)} characters"
    return reasons


def format_name(node: str) -> str:
    return f"{PREFIX}{node}"


def build_cron_job(view: View, node: str, gpus: int) -> Object:
    job = {
        "activeDeadlineSeconds": WAIT_LIMIT,
        "backoffLimit": 0,
        # A pod that a user's pod displaced is made anew, and waits for idle GPUs again.
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                {
                    "action": "FailJob",
                    "onExitCodes": {"containerName": CONTAINER, "operator": "In", "values": [FAILED_STATUS]},
                },
            ]
        },
        "template": {"spec": build_pod(view, node, gpus)},
    }
    content = {
        "schedule": f"0 {view.spec.care.hour} * * *",
        "timeZone": "Etc/UTC",
        "suspend": False,
        "startingDeadlineSeconds": LATE_START,
        "concurrencyPolicy": "Forbid",
        "successfulJobsHistoryLimit": 1,
        "failedJobsHistoryLimit": 1,
        "jobTemplate": {"spec": job},
    }
    api, space = KINDS["CronJob"][0], view.spec.gpu.namespace
    return build_object("CronJob", api, space, format_name(node), {}, {"spec": content})


def build_pod(view: View, node: str, gpus: int) -> dict[str, Any]:
    """Build the pod, with the rights of those that load GPUs: DCGM runs as the image's user, which is root."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [node]}]
    container = {
        "name": CONTAINER,
        "image": format_image(view.versions.components["dcgm"]),
        "imagePullPolicy": "IfNotPresent",
        "command": ["sh", "-c", SCRIPT],
        "workingDir": "/tmp",  # noqa: S108 - of the container
        "resources": {"limits": {RESOURCE: str(gpus)}},
        "securityContext": {"allowPrivilegeEscalation": False},
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    return {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": RUN_LIMIT,
        "terminationGracePeriodSeconds": 1,  # sh, as process 1, ignores SIGTERM, and a pod of a user waits for the GPUs
        "priorityClassName": PRIORITY_CLASS,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "tolerations": [dict(toleration) for toleration in (*USER_TOLERATIONS, GATE_TOLERATION)],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchFields": fields}]}
            }
        },
        "containers": [container],
    }


def list_leftovers(view: View) -> list[tuple[str, str]]:
    """List (kind, `namespace/name`) of gpustack's objects that nothing asks for. The CronJob of a node whose host did
    not answer stays. Raise FactUnavailable where that cannot be said."""
    jobs = [name for name in view[CRON_JOBS] or {} if name.partition("/")[2].startswith(PREFIX)]
    classes = [name for name in view[PRIORITY_CLASSES] or {} if name.partition("/")[2] == PRIORITY_CLASS]
    expected_jobs = set[str]()
    if view.spec.care.enabled and jobs:
        nodes = {node.name for node in view[GPU_NODES]} - explain_left_out(view).keys()
        expected_jobs = {f"{view.spec.gpu.namespace}/{format_name(node)}" for node in nodes}
    leftovers = [("CronJob", name) for name in jobs if name not in expected_jobs]
    return leftovers + [("PriorityClass", name) for name in classes if not view.spec.care.enabled]


def build_variables(view: View) -> dict[str, Any]:
    """Build what the role reads: `objects`, and those of gpustack to be deleted, as KIND NAMESPACE NAME."""
    objects, removals = list[Object](), list[str]()
    with suppress(FactUnavailable):
        objects = build_objects(view)
    with suppress(FactUnavailable):
        removals = [format_removal(view, kind, name) for kind, name in list_leftovers(view)]
    return {"objects": objects, "dropped": removals}


def format_removal(view: View, kind: str, name: str) -> str:
    space, _, short_name = name.partition("/")
    return f"{kind} {space or view.spec.gpu.namespace} {short_name}"


def group_objects(objects: Sequence[Object]) -> dict[str, list[Object]]:
    """Group objects by kind."""
    return {kind: [manifest for manifest in objects if manifest["kind"] == kind] for kind in KINDS}
