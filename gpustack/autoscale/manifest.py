"""A ScaledObject of KEDA: https://keda.sh/docs/latest/reference/scaledobject-spec and scalers/prometheus."""

from dataclasses import dataclass
from typing import Any

from gpustack.autoscale.suggest import Suggestion
from gpustack.exit_status import ExitStatus

# One replica at a time, and only after ten minutes below: a model takes minutes to load (docs/autoscaling.md).
SCALE_DOWN = {"stabilizationWindowSeconds": 600, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 300}]}


@dataclass(frozen=True)
class Bounds:
    minimum: int
    maximum: int


@dataclass(frozen=True)
class Draft:
    """Hold a suggestion and what its manifest needs. `server` is the address of Prometheus as KEDA's pods reach it."""

    suggestion: Suggestion
    bounds: Bounds
    server: str

    @property
    def exit_status(self) -> ExitStatus:
        return self.suggestion.exit_status


def build_scaled_object(draft: Draft) -> dict[str, Any]:
    """Build the ScaledObject of a draft whose suggestion has a metric.

    `ignoreNullValues` is false: otherwise KEDA takes a metric that is gone for 0 and removes replicas
    (pkg/scalers/prometheus_scaler.go of 2.20.2). With false the HorizontalPodAutoscaler keeps its size.
    """
    suggestion, bounds = draft.suggestion, draft.bounds
    workload = suggestion.workload
    trigger = {
        "type": "prometheus",
        "metricType": "Value",
        "metadata": {
            "serverAddress": draft.server,
            "query": suggestion.query,
            "threshold": f"{suggestion.target:g}",
            "ignoreNullValues": "false",
        },
    }
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": workload.name, "namespace": workload.namespace},
        "spec": {
            "scaleTargetRef": {"kind": workload.kind, "name": workload.name},
            "minReplicaCount": bounds.minimum,
            "maxReplicaCount": bounds.maximum,
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": SCALE_DOWN}}},
            "triggers": [trigger],
        },
    }
