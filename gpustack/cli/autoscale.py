"""`gpustack autoscale`: replicas by the load of GPUs."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.prometheus import Source, open_prometheus
from gpustack.cli.help import declare, group
from gpustack.cli.profile.selection import PodOption, select

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory

app = group(
    "Find the metric that a workload is scaled by.",
    "gpustack autoscale suggest -i mycluster --pod team-a/vllm-7d9f8c-x2k4p",
)


@app.callback()
def autoscale() -> None:
    pass


@declare(
    app,
    "gpustack autoscale suggest -i mycluster --pod team-a/vllm-7d9f8c-x2k4p",
    "gpustack autoscale suggest --pod team-a/vllm-7d9f8c-x2k4p --max 8 > vllm.yaml",
    "gpustack autoscale suggest --pod team-a/vllm-7d9f8c-x2k4p -o json",
    short="Suggest a metric and a target, with the manifest.",
)
def suggest(
    *,
    pod: PodOption,
    since: Annotated[
        str, typer.Option("--since", metavar="TIME", help="How long ago the profile begins: 15m, 1h30m.")
    ] = "1h",
    least: Annotated[int, typer.Option("--min", min=1, help="Replicas that always stay.")] = 1,
    most: Annotated[
        int | None, typer.Option("--max", min=1, help="Replicas at most. Default: twice as many as there are now.")
    ] = None,
    server: Annotated[
        str, typer.Option("--server-address", metavar="URL", help="Prometheus, as KEDA's pods reach it.")
    ] = "",
    inventory: options.InventoryOption = None,
    source: Source,
    output: options.ShortOutputOption = options.ShortOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Suggest by which metric the Deployment of a pod is scaled, from its queue or its profile.

    Prints a ScaledObject of KEDA, with the reasons as comments, to look at and apply; it changes nothing. Exits with 8
    where no metric suits."""
    seconds, (which, what) = options.parse_duration(since), select(pod, "", "")
    if most is not None and most < least:
        raise typer.BadParameter(f"--max {most} is below --min {least}")
    with open_prometheus(source, inventory, become=become, quiet=quiet) as (prometheus, hosts):
        from gpustack.autoscale.suggest import suggest as decide
        from gpustack.autoscale.workload import find_workload
        from gpustack.cli.profile.recording import read_last
        from gpustack.profile.analysis import analyze

        workload = find_workload(prometheus, which.namespace, which.pod)
        found = decide(prometheus, workload, analyze(read_last(prometheus, which, what, seconds)))
    from gpustack.autoscale.manifest import Bounds, Draft
    from gpustack.report.codes import suggestion_code
    from gpustack.report.render import show

    bounds = Bounds(least, max(least, most or 2 * (workload.replicas or 1)))
    draft = Draft(found, bounds, server or (address_of(hosts) if hosts else source.address))
    show(draft, output.value, inventory=hosts)
    raise typer.Exit(suggestion_code(found))


def address_of(hosts: "Inventory") -> str:
    from gpustack.steps.monitoring.values import prometheus_url

    return prometheus_url(hosts)
