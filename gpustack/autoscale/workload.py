"""The workload that owns a pod, by the metrics of kube-state-metrics."""

import re
from dataclasses import dataclass
from typing import Literal

from gpustack.command import Command
from gpustack.errors import MissingDataError
from gpustack.metrics.prometheus import Prometheus
from gpustack.profile.selection import quote_promql

Kind = Literal["Deployment", "StatefulSet"]
# How their controllers name pods (kubernetes/kubernetes, pkg/controller): a hash and five characters, or a number.
POD_PATTERNS: dict[Kind, str] = {"Deployment": "-[a-z0-9]+-[a-z0-9]{5}", "StatefulSet": "-[0-9]+"}
# How many there should be, by kube-state-metrics; its label for the name is the kind in lower case.
REPLICA_METRICS: dict[Kind, str] = {
    "Deployment": "kube_deployment_spec_replicas",
    "StatefulSet": "kube_statefulset_replicas",
}


@dataclass(frozen=True)
class ScaledWorkload:
    """Hold a workload that can be scaled. `replicas` is None where kube-state-metrics does not say how many there
    should be."""

    namespace: str
    kind: Kind
    name: str
    replicas: int | None

    @property
    def pods(self) -> str:
        """The names of its pods match this regular expression of PromQL."""
        return f"{re.escape(self.name)}{POD_PATTERNS[self.kind]}".replace("\\-", "-")


def find_workload(prometheus: Prometheus, namespace: str, pod: str) -> ScaledWorkload:
    """Find the workload that owns a pod. Raise MissingDataError for a pod without a scalable owner."""
    matcher = f"namespace={quote_promql(namespace)}"
    owner = find_owner(prometheus, f"kube_pod_owner{{{matcher},pod={quote_promql(pod)}}}")
    kind, name = owner or ("", "")
    if kind == "ReplicaSet":
        parent = find_owner(prometheus, f"kube_replicaset_owner{{{matcher},replicaset={quote_promql(name)}}}")
        kind, name = parent or (kind, name)
    scaled_kind: Kind | None = next((known_kind for known_kind in POD_PATTERNS if known_kind == kind), None)
    if scaled_kind is None:
        reason = f"It is owned by {kind} {name}." if kind and kind != "<none>" else "Prometheus knows no owner of it."
        message = f"{namespace}/{pod} is of no Deployment or StatefulSet."
        raise MissingDataError(
            "autoscale-owner", message, reason, Command("kubectl", "-n", namespace, "get", "pod", pod, "-o", "wide")
        )
    series = prometheus.query_instant(
        f"max({REPLICA_METRICS[scaled_kind]}{{{matcher},{scaled_kind.lower()}={quote_promql(name)}}})"
    )
    return ScaledWorkload(namespace, scaled_kind, name, series[0].find_newest_count() if series else None)


def find_owner(prometheus: Prometheus, expr: str) -> tuple[str, str] | None:
    """Find the kind and name of an owner. Return None where there is no such series."""
    labels = [series.labels for series in prometheus.query_instant(expr)]
    owners = ((label.get("owner_kind", ""), label.get("owner_name", "")) for label in labels)
    return next((owner for owner in owners if all(owner)), None)
