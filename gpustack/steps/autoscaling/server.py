"""Who serves external.metrics.k8s.io, of which a cluster has one server."""

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.probes.kubernetes.autoscaling import EXTERNAL, EXTERNAL_METRICS

METRICS = "keda-operator-metrics-apiserver"


def other_server(here: View) -> Result | None:
    """Nobody but this KEDA serves external.metrics.k8s.io."""
    found, ours = here[EXTERNAL_METRICS], f"{here.spec.autoscaling.namespace}/{METRICS}"
    if found is None or found.service == ours:
        return None
    hint = "remove that one first, or set autoscaling.enabled: false: a cluster has one server of this API"
    theirs = found.service or "the API server itself"
    return Result(EXTERNAL, ours, theirs, cure="operator", fault="autoscaling-api-taken", hint=hint)
