"""Autoscaling: KEDA, which scales Deployments by what Prometheus knows, if autoscaling.enabled asks for it.

KEDA makes a HorizontalPodAutoscaler of each ScaledObject and serves its metrics as external.metrics.k8s.io. A cluster
has one server of that API: where somebody else's is there, prometheus-adapter or another KEDA, this step names it and
leaves it alone. `gpustack autoscale suggest` writes a ScaledObject for a workload.

With autoscaling.enabled: false this step does nothing; it does not remove KEDA, for ScaledObjects would go with it.

Settings: autoscaling. Sources: chart keda 2.20.2, its templates/metrics-server/apiservice.yaml; KEDA's documentation,
"Deploying KEDA" and "Cluster"; docs/autoscaling.md.
"""

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.probes.helm import RELEASES
from gpustack.probes.kubernetes.autoscaling import EXTERNAL, EXTERNAL_METRICS
from gpustack.probes.kubernetes.workloads import KEDA_DEPLOYMENTS
from gpustack.steps.autoscaling.server import other_server, select_deployments
from gpustack.steps.autoscaling.values import build_release
from gpustack.steps.release import find_release_mismatch
from gpustack.steps.step import Step
from gpustack.steps.workloads import find_stopped_workloads


def chart(view: View) -> Result | None:
    """The Helm release is deployed, with the chart of the version set and the values of the spec."""
    return None if other_server(view) else find_release_mismatch(view, build_release(view))


def workloads(view: View) -> Result | None:
    """The operator, the metrics server and the admission webhooks run."""
    if other_server(view):
        return None
    return find_stopped_workloads(
        "workloads of KEDA", select_deployments(view).names, view[KEDA_DEPLOYMENTS], daemon_sets={}
    )


def metrics_api(view: View) -> Result | None:
    """The API server reaches KEDA's metrics: without them every HorizontalPodAutoscaler keeps its size."""
    if other_server(view) or not select_deployments(view).metrics:
        return None
    external_metrics = view[EXTERNAL_METRICS]
    if external_metrics is None:
        return Result(EXTERNAL, "available", "nobody serves it", fault="autoscaling-api-down")
    if external_metrics.reason:
        return Result(EXTERNAL, "available", external_metrics.reason, fault="autoscaling-api-down", passing=True)
    return None


STEP = Step(
    "autoscaling",
    scope="cluster",
    probes=(RELEASES, KEDA_DEPLOYMENTS, EXTERNAL_METRICS),
    checks=(other_server, chart, workloads, metrics_api),
    needs=("helm", "workers"),
    predecessors=("flannel", "monitoring"),
    settle_seconds=180,
    pulls=True,
    is_enabled=lambda inventory: inventory.spec.autoscaling.enabled,
)
