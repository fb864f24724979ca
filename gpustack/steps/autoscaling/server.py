"""What of KEDA is wanted by the operator's values, and who serves external.metrics.k8s.io, of which a cluster has one
server."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.command import Prose
from gpustack.probes.kubernetes.autoscaling import EXTERNAL, EXTERNAL_METRICS

# Of chart keda 2.20.2: values.yaml, and templates/metrics-server/ for the name that follows from the operator's.
OPERATOR, WEBHOOKS, METRICS = "keda-operator", "keda-admission-webhooks", "{}-metrics-apiserver"


@dataclass(frozen=True)
class Parts:
    """Names of the Deployments; empty for one that the operator's values leave out."""

    operator: str
    metrics: str
    webhooks: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.operator, self.metrics, self.webhooks)))


def parts(here: View) -> Parts:
    values = here.snapshot.inventory.values.get(here.spec.autoscaling.release, {})

    def section(name: str) -> Mapping[str, Any]:
        return values.get(name) or {}

    operator = section("operator").get("name", OPERATOR)
    metrics = METRICS.format(operator) if section("metricsServer").get("enabled", True) else ""
    webhooks = section("webhooks").get("name", WEBHOOKS) if section("webhooks").get("enabled", True) else ""
    return Parts(operator, metrics, webhooks)


def other_server(here: View) -> Result | None:
    """Nobody but this KEDA serves external.metrics.k8s.io."""
    found, metrics = here[EXTERNAL_METRICS], parts(here).metrics
    ours = f"{here.spec.autoscaling.namespace}/{metrics}"
    if not metrics or found is None or found.service == ours:
        return None
    hint = Prose("remove that one first, or set autoscaling.enabled: false: a cluster has one server of this API")
    theirs = found.service or "the API server itself"
    return Result(EXTERNAL, ours, theirs, cure="operator", fault="autoscaling-api-taken", hint=hint)
