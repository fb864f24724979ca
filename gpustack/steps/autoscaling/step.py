"""Autoscaling: KEDA, which scales Deployments by what Prometheus knows, if autoscaling.enabled asks for it.

KEDA makes a HorizontalPodAutoscaler of each ScaledObject and serves its metrics as external.metrics.k8s.io. A cluster
has one server of that API: where somebody else's is there, prometheus-adapter or another KEDA, this step names it and
leaves it alone. `gpustack autoscale suggest` writes a ScaledObject for a workload.

With autoscaling.enabled: false this step does nothing; it does not remove KEDA, for ScaledObjects would go with it.

Settings: autoscaling. Sources: chart keda 2.20.2, its templates/metrics-server/apiservice.yaml; KEDA's documentation,
"Deploying KEDA" and "Cluster"; docs/autoscaling.md.
"""

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.probes.helm import RELEASES
from gpustack.probes.kubernetes.autoscaling import EXTERNAL, EXTERNAL_METRICS
from gpustack.probes.kubernetes.nodes import add_reason
from gpustack.probes.kubernetes.workloads import KEDA_DEPLOYMENTS
from gpustack.steps.autoscaling.server import other_server, parts
from gpustack.steps.autoscaling.values import release
from gpustack.steps.control_plane.step import control_planes
from gpustack.steps.release import compared
from gpustack.steps.step import Step


def applies(inventory: Inventory, host: Host) -> bool:
    return inventory.spec.autoscaling.enabled and control_planes(inventory, host)


def chart(here: View) -> Result | None:
    """The Helm release is deployed, with the chart of the version set and the values of the spec."""
    return None if other_server(here) else compared(here, release(here))


def workloads(here: View) -> Result | None:
    """Operator, metrics server and admission webhooks run."""
    if other_server(here):
        return None
    what, found, wanted = "workloads of KEDA", here[KEDA_DEPLOYMENTS], parts(here).names
    if missing := [part for part in wanted if part not in found]:
        return Result(what, "all present", f"no {as_text(missing)}")
    if idle := [part for part in wanted if not found[part].wanted]:
        return Result(what, "all running", f"{as_text(idle)} scaled to 0")
    down = [add_reason(part, found[part].refused) for part in wanted if not found[part].runs]
    return Result(what, "all running", as_text(down), passing=True) if down else None


def metrics_api(here: View) -> Result | None:
    """The API server reaches KEDA's metrics: without them every HorizontalPodAutoscaler keeps its size."""
    if other_server(here) or not parts(here).metrics:
        return None
    found = here[EXTERNAL_METRICS]
    if found is None:
        return Result(EXTERNAL, "available", "nobody serves it", fault="autoscaling-api-down")
    if found.why:
        return Result(EXTERNAL, "available", found.why, fault="autoscaling-api-down", passing=True)
    return None


STEP = Step(
    "autoscaling",
    scope="cluster",
    probes=(RELEASES, KEDA_DEPLOYMENTS, EXTERNAL_METRICS),
    checks=(other_server, chart, workloads, metrics_api),
    needs=("helm", "workers"),
    follows=("flannel", "monitoring"),
    settle=180,
    pulls=True,
    applies=applies,
)
