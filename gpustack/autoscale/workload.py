"""What owns a pod, as kube-state-metrics says it: that is scaled."""

import json
import re
from dataclasses import dataclass
from typing import Literal

from gpustack.errors import UsageError
from gpustack.metrics.prometheus import Prometheus

Kind = Literal["Deployment", "StatefulSet"]
# How their controllers name pods (kubernetes/kubernetes, pkg/controller): a hash and five characters, or a number.
NAMES: dict[Kind, str] = {"Deployment": "-[a-z0-9]+-[a-z0-9]{5}", "StatefulSet": "-[0-9]+"}
REPLICAS: dict[Kind, str] = {"Deployment": "deployment", "StatefulSet": "statefulset"}


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
    where = f"namespace={json.dumps(namespace)}"
    owners = owner(prometheus, f"kube_pod_owner{{{where},pod={json.dumps(pod)}}}")
    kind, name = owners or ("", "")
    if kind == "ReplicaSet":
        above = owner(prometheus, f"kube_replicaset_owner{{{where},replicaset={json.dumps(name)}}}")
        kind, name = above or (kind, name)
    found: Kind | None = next((one for one in NAMES if one == kind), None)
    if found is None:
        why = f"It is owned by {kind} {name}." if kind and kind != "<none>" else "Prometheus knows no owner of it."
        message = f"{namespace}/{pod} is of no Deployment or StatefulSet."
        raise UsageError("autoscale-owner", message, why, f"kubectl -n {namespace} get pod {pod} -o wide")
    what = REPLICAS[found]
    spec = f"kube_deployment_spec_replicas{{{where},{what}={json.dumps(name)}}}"
    if found == "StatefulSet":
        spec = f"kube_statefulset_replicas{{{where},{what}={json.dumps(name)}}}"
    series = prometheus.instant(f"max({spec})").series
    return ScaledWorkload(namespace, found, name, int(series[0].points[-1][1]) if series else None)


def owner(prometheus: Prometheus, expr: str) -> tuple[str, str] | None:
    """Kind and name; None where there is no such series."""
    labels = [one.labels for one in prometheus.instant(expr).series]
    return next(((one["owner_kind"], one["owner_name"]) for one in labels if one.get("owner_kind")), None)
