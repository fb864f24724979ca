"""Scaling of replicas: the servers of metrics of other systems, and the conditions of HorizontalPodAutoscalers.

Kinds: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/horizontal-pod-autoscaler-v2 and
/cluster-resources/api-service-v1.
"""

from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import list_objects, parse_each

EXTERNAL = "v1beta1.external.metrics.k8s.io"


@dataclass(frozen=True)
class ApiService:
    """Describe the server of an API group. `service` is namespace/name; `reason` is empty where it is available."""

    service: str
    reason: str


@dataclass(frozen=True)
class Scaling:
    """Describe a HorizontalPodAutoscaler.

    `target` is kind/name; `reason` and `message` are of its condition ScalingActive or AbleToScale where that is False,
    and the size stays. Both are empty where it scales, and where its target was scaled to 0, which disables it.
    """

    namespace: str
    name: str
    target: str
    reason: str
    message: str

    @property
    def place(self) -> str:
        return f"{self.namespace}/{self.name}"


def parse_api_service(answer: Answer) -> ApiService | None:
    """Parse the server of an API group, or None where there is none."""
    for entry in list_objects(answer):
        service = entry["spec"].get("service") or {}
        conditions = {condition["type"]: condition for condition in entry.get("status", {}).get("conditions") or ()}
        available = conditions.get("Available", {"status": "Unknown", "message": "not judged yet"})
        reason = "" if available["status"] == "True" else f"{available.get('message') or available.get('reason')}"
        return ApiService(f"{service['namespace']}/{service['name']}" if service else "", reason)
    return None


def parse_scaling(entry: Any) -> Scaling:
    conditions = {condition["type"]: condition for condition in entry.get("status", {}).get("conditions") or ()}
    candidates = (conditions[kind] for kind in ("AbleToScale", "ScalingActive") if kind in conditions)
    false_conditions = (
        candidate
        for candidate in candidates
        if candidate["status"] == "False" and candidate.get("reason") != SWITCHED_OFF
    )
    stop_condition: dict[str, str] = next(false_conditions, {})
    target = entry["spec"]["scaleTargetRef"]
    metadata = entry["metadata"]
    target_name = f"{target['kind']}/{target['name']}"
    return Scaling(
        metadata["namespace"],
        metadata["name"],
        target_name,
        stop_condition.get("reason", ""),
        stop_condition.get("message", ""),
    )


# Its target has 0 replicas: somebody's wish (HorizontalPodAutoscaler, "Implicit maintenance-mode deactivation").
SWITCHED_OFF = "ScalingDisabled"

EXTERNAL_METRICS = Probe(
    "autoscaling.external-metrics",
    Api(
        f"/apis/apiregistration.k8s.io/v1/apiservices?fieldSelector=metadata.name%3D{EXTERNAL}",
        ("metadata.name", "spec.service", "status.conditions"),
    ),
    parse_api_service,
)
SCALINGS = Probe(
    "autoscaling.scalings",
    Api(
        "/apis/autoscaling/v2/horizontalpodautoscalers",
        ("metadata.name", "metadata.namespace", "spec.scaleTargetRef", "status.conditions"),
    ),
    parse_each(parse_scaling),
)
