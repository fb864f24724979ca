"""What owns a pod, as kube-state-metrics says it: that is scaled."""

import re
from dataclasses import dataclass
from typing import Literal

from gpustack.command import Command
from gpustack.errors import UsageError
from gpustack.metrics.prometheus import Prometheus
from gpustack.profile.selection import quoted

Kind = Literal["Deployment", "StatefulSet"]
# How their controllers name pods (kubernetes/kubernetes, pkg/controller): a hash and five characters, or a number.
NAMES: dict[Kind, str] = {"Deployment": "-[a-z0-9]+-[a-z0-9]{5}", "StatefulSet": "-[0-9]+"}
# How many there should be, by kube-state-metrics; its label for the name is the kind in lower case.
REPLICAS: dict[Kind, str] = {"Deployment": "kube_deployment_spec_replicas", "StatefulSet": "kube_statefulset_replicas"}


@dataclass(frozen=True)
class ScaledWorkload:
    """`replicas` is None where kube-state-metrics does not say how many there should be."""

    namespace: str
    kind: Kind
    name: str
    replicas: int | None

    @property
    def pods(self) -> str:
        """A regular expression of PromQL for the names of its pods."""
        return f"{re.escape(self.name)}{NAMES[self.kind]}".replace("\\-", "-")


def find_workload(prometheus: Prometheus, namespace: str, pod: str) -> ScaledWorkload:
    """Raises UsageError for a pod that nothing scalable owns."""
    where = f"namespace={quoted(namespace)}"
    owners = owner(prometheus, f"kube_pod_owner{{{where},pod={quoted(pod)}}}")
    kind, name = owners or ("", "")
    if kind == "ReplicaSet":
        above = owner(prometheus, f"kube_replicaset_owner{{{where},replicaset={quoted(name)}}}")
        kind, name = above or (kind, name)
    found: Kind | None = next((one for one in NAMES if one == kind), None)
    if found is None:
        why = f"It is owned by {kind} {name}." if kind and kind != "<none>" else "Prometheus knows no owner of it."
        message = f"{namespace}/{pod} is of no Deployment or StatefulSet."
        raise UsageError(
            "autoscale-owner", message, why, Command("kubectl", "-n", namespace, "get", "pod", pod, "-o", "wide")
        )
    series = prometheus.instant(f"max({REPLICAS[found]}{{{where},{found.lower()}={quoted(name)}}})").series
    return ScaledWorkload(namespace, found, name, int(series[0].points[-1][1]) if series else None)


def owner(prometheus: Prometheus, expr: str) -> tuple[str, str] | None:
    """Kind and name; None where there is no such series."""
    labels = [one.labels for one in prometheus.instant(expr).series]
    return next(((one["owner_kind"], one["owner_name"]) for one in labels if one.get("owner_kind")), None)
