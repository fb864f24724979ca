"""The parts of KEDA that the operator's values leave, and the server of external.metrics.k8s.io, of which a cluster has
one."""

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
class Deployments:
    """Name the Deployments of KEDA; empty for one that the operator's values leave out."""

    operator: str
    metrics: str
    webhooks: str

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(filter(None, (self.operator, self.metrics, self.webhooks)))


def select_deployments(view: View) -> Deployments:
    values = view.snapshot.inventory.values.get(view.spec.autoscaling.release, {})

    def read_section(name: str) -> Mapping[str, Any]:
        return values.get(name) or {}

    operator = read_section("operator").get("name", OPERATOR)
    metrics = METRICS.format(operator) if read_section("metricsServer").get("enabled", True) else ""
    webhooks = read_section("webhooks").get("name", WEBHOOKS) if read_section("webhooks").get("enabled", True) else ""
    return Deployments(operator, metrics, webhooks)


def other_server(view: View) -> Result | None:
    """The server of external.metrics.k8s.io, if there is one, is this KEDA."""
    external_metrics, metrics = view[EXTERNAL_METRICS], select_deployments(view).metrics
    expected_service = f"{view.spec.autoscaling.namespace}/{metrics}"
    if not metrics or external_metrics is None or external_metrics.service == expected_service:
        return None
    hint = Prose("remove that one first, or set autoscaling.enabled: false: a cluster has one server of this API")
    actual_service = external_metrics.service or "the API server itself"
    return Result(EXTERNAL, expected_service, actual_service, cure="operator", fault="autoscaling-api-taken", hint=hint)
