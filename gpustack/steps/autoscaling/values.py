"""The values for the chart keda: ours < those that follow from the spec < the operator's."""

from gpustack.ask.view import View
from gpustack.config.values import merged, ours
from gpustack.steps.autoscaling.server import other_server
from gpustack.steps.release import Release

CHART = "keda"


def wanted(here: View) -> bool:
    """Raises FactUnavailable where it is unknown whether somebody else serves the API."""
    return here.spec.autoscaling.enabled and other_server(here) is None


def release(here: View) -> Release:
    spec = here.spec
    theirs = here.snapshot.inventory.values.get(spec.autoscaling.release, {})
    named = {"clusterName": spec.cluster_name, "clusterDomain": spec.kubernetes.dns_domain}
    return Release(spec.autoscaling.release, spec.autoscaling.namespace, CHART, merged(ours(CHART), named, theirs))
