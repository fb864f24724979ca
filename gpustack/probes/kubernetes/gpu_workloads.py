"""Deployments and Jobs of all namespaces whose pods request GPUs, and that lack pods or have failed.

Conditions: k8s.io/api apps/v1 (DeploymentCondition) and batch/v1 (JobCondition).
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpustack.ask.message import shorten_message
from gpustack.ask.probe import Api, Probe
from gpustack.ask.prune import keep_items
from gpustack.probes.kubernetes.nodes import parse_each
from gpustack.probes.kubernetes.pod_states import has_gpus
from gpustack.probes.parsing import parse_optional_time

REFUSAL_TYPE, PROGRESS_TYPE, FAILURE_TYPE, COMPLETION_TYPE = "ReplicaFailure", "Progressing", "Failed", "Complete"
ADVERSE_STATUSES = {REFUSAL_TYPE: "True", PROGRESS_TYPE: "False", FAILURE_TYPE: "True"}
"""The conditions of a Deployment or a Job that say that something is wrong, with their status."""


@dataclass(frozen=True)
class AdverseCondition:
    """Hold a condition that says that something is wrong, in the words of the controller, and when it changed."""

    type: str
    reason: str
    message: str
    changed_at: datetime | None


@dataclass(frozen=True)
class GpuWorkload:
    """Describe a workload whose pods request GPUs, with its adverse conditions."""

    namespace: str
    name: str
    conditions: tuple[AdverseCondition, ...]

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


def parse_workload(entry: Any) -> GpuWorkload:
    metadata = entry["metadata"]
    conditions = tuple(
        AdverseCondition(
            condition["type"],
            condition.get("reason", ""),
            shorten_message(str(condition.get("message", ""))),
            parse_optional_time(condition.get("lastTransitionTime")),
        )
        for condition in entry.get("status", {}).get("conditions") or ()
        if is_adverse(condition)
    )
    return GpuWorkload(metadata["namespace"], metadata["name"], conditions)


def is_adverse(condition: Any) -> bool:
    return bool(ADVERSE_STATUSES.get(condition["type"]) == condition["status"])


def has_adverse_condition(entry: Any) -> bool:
    return any(map(is_adverse, entry.get("status", {}).get("conditions") or ()))


def lacks_pods(entry: Any) -> bool:
    """Tell whether a Job has failed, or has no pod that runs although it should."""
    status = entry.get("status", {})
    types = {condition["type"] for condition in status.get("conditions") or () if condition["status"] == "True"}
    return FAILURE_TYPE in types or not (types & {COMPLETION_TYPE, "Suspended"} or status.get("active"))


def prune_deployments(text: str) -> str:
    """Keep the Deployments whose pods request GPUs and that lack pods."""
    return keep_items(text, lambda entry: has_gpus(entry["spec"]["template"]) and has_adverse_condition(entry))


def prune_jobs(text: str) -> str:
    """Keep the Jobs whose pods request GPUs and that lack pods or have failed."""
    return keep_items(text, lambda entry: has_gpus(entry["spec"]["template"]) and lacks_pods(entry))


def build_probe(id: str, path: str, pruner: Callable[[str], str]) -> Probe[tuple[GpuWorkload, ...]]:
    fields = (
        "metadata.namespace", "metadata.name", "spec.template.spec.containers.resources.limits", "status.active",
        "status.conditions.type", "status.conditions.status", "status.conditions.reason", "status.conditions.message",
        "status.conditions.lastTransitionTime",
    )  # fmt: skip
    return Probe(id, Api(path, fields), parse_each(parse_workload), pruner=pruner)


SHORT_DEPLOYMENTS = build_probe("workloads.gpu-deployments", "/apis/apps/v1/deployments", prune_deployments)
SHORT_JOBS = build_probe("workloads.gpu-jobs", "/apis/batch/v1/jobs", prune_jobs)
