"""Quotas that limit GPUs in namespaces, and the pods that they refused.

A ResourceQuota limits an extended resource by its requests alone: `requests.nvidia.com/gpu`, and MIG instances by the
name of their profile (https://kubernetes.io/docs/concepts/policy/resource-quotas); `limits.nvidia.com/gpu` is accepted,
and nothing is counted for it (seen with 1.36.4). The API server reads `status`, not `spec`, and refuses a pod with
which `used` would exceed `hard` (kubernetes/kubernetes,
staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go, CheckRequest).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gpustack.ask.api_list import read_items
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.files.json_text import dump_json, load_json
from gpustack.probes.gpu.cluster import RESOURCES
from gpustack.probes.kubernetes.nodes import list_objects
from gpustack.probes.parsing import parse_quantity

REQUESTS = "requests."


@dataclass(frozen=True)
class GpuQuota:
    """Describe how many units of a resource, such as nvidia.com/gpu, the pods of a namespace may request, and how many
    they do. `is_scoped`: the quota is for some pods alone, such as those of a priority."""

    namespace: str
    name: str
    resource: str
    limit: int
    use: int
    is_scoped: bool


@dataclass(frozen=True)
class QuotaRefusal:
    """Describe a pod that a quota refused: its controller as `KIND/NAME`, and how many units of a resource it
    requests."""

    namespace: str
    controller: str
    quota: str
    resource: str
    count: int


def is_gpu_request(key: str) -> bool:
    return key.startswith(f"{REQUESTS}{RESOURCES}")


def parse_gpu_quotas(answer: Answer) -> tuple[GpuQuota, ...]:
    """Parse the quotas of GPUs, one for each resource. One whose use has not been counted yet is left out."""
    return tuple(quota for entry in list_objects(answer) for quota in list_gpu_quotas(entry))


def list_gpu_quotas(entry: Any) -> Iterator[GpuQuota]:
    metadata, spec, status = entry["metadata"], entry.get("spec", {}), entry.get("status", {})
    is_scoped, uses = bool(spec.get("scopes") or spec.get("scopeSelector")), status.get("used", {})
    for key, limit in status.get("hard", {}).items():
        if is_gpu_request(key) and key in uses:
            counts = parse_quantity(limit), parse_quantity(uses[key])
            yield GpuQuota(metadata["namespace"], metadata["name"], key.removeprefix(REQUESTS), *counts, is_scoped)


def prune_quotas(text: str) -> str:
    """Keep the quotas of GPUs, with the counts of GPUs alone."""
    items = []
    for entry in read_items(load_json(text)):
        status = {
            kind: {key: count for key, count in counts.items() if is_gpu_request(key)}
            for kind, counts in entry.get("status", {}).items()
        }
        if any(status.values()):
            items.append(entry | {"status": status})
    return dump_json({"items": items}, separators=(",", ":"))


def parse_quota_refusals(answer: Answer) -> tuple[QuotaRefusal, ...]:
    """Parse the refusals of pods that request GPUs, each once, however often its controller tried."""
    refusals = (refusal for entry in list_objects(answer) for refusal in list_quota_refusals(entry))
    return tuple(dict.fromkeys(refusals))


def list_quota_refusals(entry: Any) -> Iterator[QuotaRefusal]:
    reference, message = entry["involvedObject"], entry.get("message", "")
    quota, _, words = message.partition("exceeded quota: ")[2].partition(", requested: ")
    for part in words.partition(", used: ")[0].split(","):
        key, _, count = part.partition("=")
        if is_gpu_request(key):
            controller = f"{reference['kind']}/{reference['name']}"
            resource = key.removeprefix(REQUESTS)
            yield QuotaRefusal(reference["namespace"], controller, quota, resource, parse_quantity(count))


def prune_refusals(text: str) -> str:
    """Keep the events about quotas of GPUs."""
    items = [entry for entry in read_items(load_json(text)) if f"{REQUESTS}{RESOURCES}" in entry.get("message", "")]
    return dump_json({"items": items}, separators=(",", ":"))


GPU_QUOTAS = Probe(
    "gpu.quotas",
    Api(
        "/api/v1/resourcequotas",
        (
            "metadata.namespace", "metadata.name", "spec.scopes", "spec.scopeSelector.matchExpressions.scopeName",
            "status.hard", "status.used",
        ),
    ),
    parse_gpu_quotas,
    pruner=prune_quotas,
)  # fmt: skip
# As the controllers of ReplicaSets, Jobs, StatefulSets and DaemonSets say it (kubernetes/kubernetes
# pkg/controller/controller_utils.go, FailedCreatePodReason).
QUOTA_REFUSALS = Probe(
    "gpu.quota-refusals",
    Api(
        "/api/v1/events?fieldSelector=reason%3DFailedCreate&limit=2000",
        ("involvedObject.namespace", "involvedObject.kind", "involvedObject.name", "message"),
    ),
    parse_quota_refusals,
    pruner=prune_refusals,
)
