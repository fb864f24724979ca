"""The commands `gpustack autoscale`, which scale replicas by the load of GPUs."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.prometheus import Source
from gpustack.cli.help import build_group, declare_command
from gpustack.cli.option_groups import Session
from gpustack.cli.profile.selection import PodOption, select
from gpustack.cli.root import OPERATE, ROOT
from gpustack.report.renderings import SUGGESTION

if TYPE_CHECKING:
    from gpustack.autoscale.manifest import Draft
    from gpustack.config.inventory import Inventory

app = build_group(
    "Find the metric to scale a workload by.", "gpustack autoscale suggest -i mycluster --pod team-a/vllm-7d9f8c"
)
ROOT.add_typer(app, name="autoscale", rich_help_panel=OPERATE)


@app.callback()
def autoscale() -> None:
    pass


@declare_command(
    app,
    "gpustack autoscale suggest -i mycluster --pod team-a/vllm-7d9f8c",
    "gpustack autoscale suggest -i mycluster --pod team-a/vllm-7d9f8c > vllm.yaml",
    "gpustack autoscale suggest -i mycluster --pod team-a/vllm-7d9f8c -o json",
    result=SUGGESTION,
    short="Suggest a metric and a target, with a manifest.",
)
def suggest(
    *,
    pod: PodOption,
    lookback: Annotated[
        str,
        options.build_time_option(
            "--since", "1s", "30d", text="Start of the profile, as time before now: 15m, 1h30m, at most 30d."
        ),
    ] = "1h",
    min_replicas: Annotated[int, typer.Option("--min", min=1, help="Minimum number of replicas.")] = 1,
    max_replicas: Annotated[
        int | None, typer.Option("--max", min=1, help="Maximum number of replicas. Default: twice the current number.")
    ] = None,
    server: Annotated[
        str, typer.Option("--server-address", metavar="URL", help="URL of Prometheus for the pods of KEDA.")
    ] = "",
    source: Source,
    session: Session,
) -> "Draft":
    """Suggest a metric to scale the Deployment of a pod by, from its queue or its profile.

    The command prints a ScaledObject of KEDA, with the reasons as comments. It changes nothing. It exits with 8 if no
    metric is suitable."""
    seconds, (selection, subject) = options.parse_duration(lookback), select(pod, "", "")
    if max_replicas is not None and max_replicas < min_replicas:
        raise typer.BadParameter(f"--max {max_replicas} is below --min {min_replicas}")
    with session.open_prometheus(source) as prometheus:
        from gpustack.autoscale.suggest import suggest_metric
        from gpustack.autoscale.workload import find_workload
        from gpustack.profile.analysis import analyze
        from gpustack.profile.recording import read_last

        workload = find_workload(prometheus, selection.namespace, selection.pod)
        suggestion = suggest_metric(prometheus, workload, analyze(read_last(prometheus, selection, subject, seconds)))
    from gpustack.autoscale.manifest import Bounds, Draft

    bounds = Bounds(min_replicas, max(min_replicas, max_replicas or 2 * (workload.replicas or 1)))
    hosts = session.context["inventory"]
    return Draft(suggestion, bounds, server or (build_prometheus_url(hosts) if hosts else source.address))


def build_prometheus_url(hosts: "Inventory") -> str:
    from gpustack.steps.monitoring.values import format_prometheus_url

    return format_prometheus_url(hosts)
