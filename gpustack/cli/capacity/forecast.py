"""`gpustack capacity forecast`."""

from typing import Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.prometheus import Source, open_prometheus

HistoryOption = Annotated[str, typer.Option("--history", metavar="TIME", help="How much of the past to read.")]
LeadOption = Annotated[
    str, typer.Option("--lead-time", metavar="TIME", help="From an order to GPUs that take pods: 30d, 12d.")
]
HorizonOption = Annotated[str, typer.Option("--horizon", metavar="TIME", help="How far to look.")]
ReserveOption = Annotated[float, typer.Option("--reserve", metavar="GPUS", min=0, help="GPUs that are to stay free.")]
NodesOption = Annotated[
    str, typer.Option("--nodes", metavar="REGEX", help="Only these nodes; who waits for them is not known then.")
]
ResourceOption = Annotated[
    str, typer.Option("--resource", metavar="NAME", help="Only this pool, as kube-state-metrics names it.")
]


def forecast(
    *,
    lead_time: LeadOption = "30d",
    horizon: HorizonOption = "90d",
    reserve: ReserveOption = 0.0,
    history: HistoryOption = "90d",
    resource: ResourceOption = "",
    nodes: NodesOption = "",
    inventory: options.InventoryOption = None,
    source: Source,
    output: options.PageOutputOption = options.PageOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Forecast when a pool of GPUs is full, with an interval, and how many GPUs to order so that nine of ten paths are
    served after the lead time.

    Demand is what pods have requested and wait for. Exits with 1 where GPUs are to be ordered, with 8 where a pool has
    no forecast, and says why."""
    from gpustack.forecast.outlook import Terms
    from gpustack.forecast.pool import forecast as predict
    from gpustack.forecast.read import read_demands
    from gpustack.report.codes import forecast_code
    from gpustack.report.render import show

    terms = Terms(parse_days("--lead-time", lead_time), parse_days("--horizon", horizon), reserve)
    with open_prometheus(source, inventory, become=become, quiet=quiet) as (prometheus, hosts):
        demands = read_demands(prometheus, options.parse_duration(history), nodes, resource)
    found = predict(demands, terms)
    show(found, output.value, inventory=hosts)
    raise typer.Exit(forecast_code(found))


def parse_days(option: str, text: str) -> int:
    """Whole days, at least one. Raises BadParameter."""
    days, rest = divmod(options.parse_duration(text), options.UNITS["d"])
    if rest:
        raise typer.BadParameter(f"{option} takes days, as 30d, not {text!r}")
    return int(days)
