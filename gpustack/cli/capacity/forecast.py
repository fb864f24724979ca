"""The command `gpustack capacity forecast`."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.prometheus import RecordedSource
from gpustack.cli.option_groups import Session
from gpustack.times import DAY

if TYPE_CHECKING:
    from gpustack.forecast.pool import Forecast


NOT_IN_RE2 = re.compile(r"(?<!\\)(?:\(\?(?:[=!>(]|<[=!]|P=)|\\[1-9]|[*+?}]\+)")
"""Look-around, conditions, references and possessive quantifiers: Prometheus matches with RE2, which has none."""


def check_pattern(text: str) -> str:
    """Return a regular expression of RE2. Raise BadParameter for a text that is none."""
    try:
        re.compile(text)
    except re.error as error:
        raise typer.BadParameter(f"{text!r}; allowed: a regular expression ({error})") from None
    if unknown := NOT_IN_RE2.search(text):
        raise typer.BadParameter(f"{text!r}; allowed: a regular expression of RE2, which has no {unknown[0]!r}")
    return text


HistoryOption = Annotated[
    str,
    options.build_time_option(
        "--history", "1d", "3y", "1d", text="Length of the history to read, such as 90d, at most 3y."
    ),
]
LeadOption = Annotated[
    str,
    options.build_time_option(
        "--lead-time", "1d", "3y", "1d", text="Time from an order until its GPUs run pods, in whole days: 12d, 30d."
    ),
]
HorizonOption = Annotated[
    str,
    options.build_time_option(
        "--horizon", "1d", "3y", "1d", text="Length of the forecast, in whole days, such as 90d."
    ),
]
ReserveOption = Annotated[
    float, typer.Option("--reserve", metavar="UNITS", min=0, help="Number of units to keep free.")
]
NodesOption = Annotated[
    str,
    typer.Option(
        "--nodes",
        metavar="REGEX",
        help="Limit the forecast to these nodes. Pending pods are not counted then.",
        callback=check_pattern,
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
    source: RecordedSource,
    session: Session,
) -> "Forecast":
    """Forecast when a pool of GPUs is full, and how many GPUs to order now.

    The order is enough for nine of ten simulated paths after the lead time. Demand is the number of GPUs that pods have
    or wait for. The command exits with 1 if GPUs have to be ordered, and with 8 if a pool has no forecast."""
    from gpustack.forecast.outlook import Terms
    from gpustack.forecast.pool import forecast as predict
    from gpustack.forecast.read import query_demands

    terms = Terms(count_days(lead_time), count_days(horizon), reserve)
    with session.open_prometheus(source) as prometheus:
        return predict(query_demands(prometheus, options.parse_duration(history), nodes, resource), terms)


def count_days(text: str) -> int:
    return int(options.parse_duration(text) // DAY)
