"""The command `gpustack capacity forecast`."""

from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.prometheus import Source
from gpustack.cli.option_groups import Session
from gpustack.times import DAY

if TYPE_CHECKING:
    from gpustack.forecast.pool import Forecast

HistoryOption = Annotated[
    str, typer.Option("--history", metavar="TIME", help="Length of the history to read, such as 90d.")
]
LeadOption = Annotated[
    str,
    typer.Option(
        "--lead-time", metavar="TIME", help="Time from an order until its GPUs run pods, in whole days: 12d, 30d."
    ),
]
HorizonOption = Annotated[
    str, typer.Option("--horizon", metavar="TIME", help="Length of the forecast, in whole days, such as 90d.")
]
ReserveOption = Annotated[float, typer.Option("--reserve", metavar="GPUS", min=0, help="Number of GPUs to keep free.")]
NodesOption = Annotated[
    str,
    typer.Option(
        "--nodes", metavar="REGEX", help="Limit the forecast to these nodes. Pending pods are not counted then."
    ),
]
ResourceOption = Annotated[
    str,
    typer.Option(
        "--resource", metavar="NAME", help="Limit the forecast to this resource, by its name in kube-state-metrics."
    ),
]


def forecast(
    *,
    lead_time: LeadOption = "30d",
    horizon: HorizonOption = "90d",
    reserve: ReserveOption = 0.0,
    history: HistoryOption = "90d",
    resource: ResourceOption = "",
    nodes: NodesOption = "",
    source: Source,
    session: Session,
) -> "Forecast":
    """Forecast when a pool of GPUs is full, and how many GPUs to order now.

    The order is enough for nine of ten simulated paths after the lead time. Demand is the number of GPUs that pods have
    or wait for. The command exits with 1 if GPUs have to be ordered, and with 8 if a pool has no forecast."""
    from gpustack.forecast.outlook import Terms
    from gpustack.forecast.pool import forecast as predict
    from gpustack.forecast.read import query_demands

    terms = Terms(parse_days("--lead-time", lead_time), parse_days("--horizon", horizon), reserve)
    with session.open_prometheus(source) as prometheus:
        return predict(query_demands(prometheus, options.parse_duration(history), nodes, resource), terms)


def parse_days(option: str, text: str) -> int:
    """Parse a duration of whole days. Raise BadParameter for other durations."""
    days, remainder = divmod(options.parse_duration(text), DAY)
    if remainder:
        raise typer.BadParameter(f"{option} takes days, as 30d, not {text!r}")
    return int(days)
