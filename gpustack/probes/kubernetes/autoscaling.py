"""What scales replicas: who serves the metrics of other systems, and what HorizontalPodAutoscalers say of theirs.

Kinds: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/horizontal-pod-autoscaler-v2 and
/cluster-resources/api-service-v1.
"""

from dataclasses import dataclass
from typing import Any

from gpustack.ask.probe import Answer, Api, Probe
from gpustack.probes.kubernetes.nodes import entries

EXTERNAL = "v1beta1.external.metrics.k8s.io"


@dataclass(frozen=True)
class Served:
    """Who answers for an API group. `service` is namespace/name; `why` is empty where it is available."""

    service: str
    why: str


@dataclass(frozen=True)
class Scaling:
    """A HorizontalPodAutoscaler. `target` is kind/name; `reason` and `why` are of its condition ScalingActive or
    AbleToScale where that is False: it keeps the size that there is. Both are empty where it scales, and where its
    target was scaled to 0, which switches it off."""

    namespace: str
    name: str
    target: str
    reason: str
    why: str

    @property
    def place(self) -> str:
        return f"{self.namespace}/{self.name}"


def served(answer: Answer) -> Served | None:
    """None where nobody does."""
    for entry in entries(answer):
        at = entry["spec"].get("service") or {}
        conditions = {one["type"]: one for one in entry.get("status", {}).get("conditions") or ()}
        available = conditions.get("Available", {"status": "Unknown", "message": "not judged yet"})
        why = "" if available["status"] == "True" else f"{available.get('message') or available.get('reason')}"
        return Served(f"{at['namespace']}/{at['name']}" if at else "", why)
    return None


def scalings(answer: Answer) -> tuple[Scaling, ...]:
    return tuple(scaling(entry) for entry in entries(answer))


def scaling(entry: Any) -> Scaling:
    conditions = {one["type"]: one for one in entry.get("status", {}).get("conditions") or ()}
    found = (conditions[kind] for kind in ("AbleToScale", "ScalingActive") if kind in conditions)
    stopped = (one for one in found if one["status"] == "False" and one.get("reason") != SWITCHED_OFF)
    stuck: dict[str, str] = next(stopped, {})
    target = entry["spec"]["scaleTargetRef"]
    metadata = entry["metadata"]
    at = f"{target['kind']}/{target['name']}"
    return Scaling(metadata["namespace"], metadata["name"], at, stuck.get("reason", ""), stuck.get("message", ""))


# Its target has 0 replicas: somebody's wish (HorizontalPodAutoscaler, "Implicit maintenance-mode deactivation").
SWITCHED_OFF = "ScalingDisabled"

EXTERNAL_METRICS = Probe(
    "autoscaling.external-metrics",
    Api(
        f"/apis/apiregistration.k8s.io/v1/apiservices?fieldSelector=metadata.name%3D{EXTERNAL}",
        ("metadata.name", "spec.service", "status.conditions"),
    ),
    served,
)
SCALINGS = Probe(
    "autoscaling.scalings",
    Api(
        "/apis/autoscaling/v2/horizontalpodautoscalers",
        ("metadata.name", "metadata.namespace", "spec.scaleTargetRef", "status.conditions"),
    ),
    scalings,
)
