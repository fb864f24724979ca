"""A ScaledObject of KEDA: https://keda.sh/docs/latest/reference/scaledobject-spec and scalers/prometheus."""

from dataclasses import dataclass
from typing import Any

from gpustack.autoscale.suggest import Suggestion

# One replica at a time, and only after ten minutes below: a model takes minutes to load (docs/autoscaling.md).
SHRINK = {"stabilizationWindowSeconds": 600, "policies": [{"type": "Pods", "value": 1, "periodSeconds": 300}]}


@dataclass(frozen=True)
class Bounds:
    least: int
    most: int


@dataclass(frozen=True)
class Draft:
    """What is printed. `server` is the address of Prometheus as KEDA's pods reach it."""

    suggestion: Suggestion
    bounds: Bounds
    server: str


def scaled_object(draft: Draft) -> dict[str, Any]:
    """Of a draft whose suggestion has a metric.

    `ignoreNullValues` false: else KEDA takes a metric that is gone for 0 and removes replicas
    (pkg/scalers/prometheus_scaler.go of 2.20.2); with it the HorizontalPodAutoscaler keeps its size."""
    found, bounds = draft.suggestion, draft.bounds
    workload = found.workload
    trigger = {
        "type": "prometheus",
        "metricType": "Value",
        "metadata": {
            "serverAddress": draft.server,
            "query": found.query,
            "threshold": f"{found.target:g}",
            "ignoreNullValues": "false",
        },
    }
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": workload.name, "namespace": workload.namespace},
        "spec": {
            "scaleTargetRef": {"kind": workload.kind, "name": workload.name},
            "minReplicaCount": bounds.least,
            "maxReplicaCount": bounds.most,
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": SHRINK}}},
            "triggers": [trigger],
        },
    }
