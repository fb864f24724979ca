"""The values for the chart keda: gpustack's < those that follow from the spec < the operator's."""

from typing import Any

from gpustack.ask.view import View
from gpustack.steps.autoscaling.server import other_server
from gpustack.steps.chart_values import merge_values, read_own_values
from gpustack.steps.release import Release
from gpustack.steps.tolerations import build_platform_tolerations

CHART = "keda"


def needs_release(view: View) -> bool:
    """Tell whether KEDA is to be installed. Raise FactUnavailable where it is unknown whether somebody else serves the
    API."""
    return view.spec.autoscaling.enabled and other_server(view) is None


def build_release(view: View) -> Release:
    spec = view.spec
    operator_values = view.snapshot.inventory.values.get(spec.autoscaling.release, {})
    cluster_values: dict[str, Any] = {"clusterName": spec.cluster_name, "clusterDomain": spec.kubernetes.dns_domain}
    if tolerations := build_platform_tolerations(spec):
        cluster_values["tolerations"] = tolerations
    return Release(
        spec.autoscaling.release,
        spec.autoscaling.namespace,
        CHART,
        merge_values(read_own_values(CHART), cluster_values, operator_values),
    )
