"""Options and the Prometheus of the commands that read GPU-hours."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu import prometheus
from gpustack.cli.gpu.prometheus import RecordedSource
from gpustack.cli.option_groups import Session

if TYPE_CHECKING:
    from gpustack.capacity.window import Window
    from gpustack.config.spec import Spec
    from gpustack.metrics.prometheus import Prometheus


def check_month(text: str) -> str:
    """Return the value of --month. Raise BadParameter for a text that is no month."""
    if text and not re.fullmatch(r"(19[7-9]\d|[2-9]\d{3})-(0[1-9]|1[0-2])", text, re.ASCII):
        raise typer.BadParameter(f"{text!r}; allowed: a year and a month, as 2026-10")
    return text


SinceOption = Annotated[
    str,
    options.build_time_option(
        "--since",
        "1h",
        "3y",
        "1h",
        text="Start of the report, as whole hours or days before now: 12h, 7d, at most 3y. Default: 30d.",
    ),
]
MonthOption = Annotated[
    str,
    typer.Option(
        "--month",
        metavar="YYYY-MM",
        help="Report this calendar month in UTC, instead of --since.",
        callback=check_month,
    ),
]
ClusterOption = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="NAME",
        help="Select this cluster by the external label `cluster`, if Prometheus has several.",
    ),
]


def complete_dimension(incomplete: str) -> list[str]:
    from gpustack.capacity.usage import DIMENSIONS

    return options.complete_last_part(incomplete, DIMENSIONS)


ByOption = Annotated[
    str,
    typer.Option(
        "--by",
        metavar="NAMES",
        help="Group by these: day, pool, node, model, profile, namespace, team (comma-separated).",
        autocompletion=complete_dimension,
    ),
]


@dataclass(frozen=True)
class Period:
    """Hold the options that select the hours of a report."""

    lookback: SinceOption = ""
    month: MonthOption = ""
    cluster: ClusterOption = ""

    def __post_init__(self) -> None:
        if self.month and self.lookback:
            raise typer.BadParameter("--month and --since are mutually exclusive")

    def build_window(self, timestamp: float) -> "Window":
        """Build the window of hours that ends at a timestamp. Raise UsageError for an invalid month."""
        from gpustack.capacity.window import build_recent_window, parse_month

        if self.month:
            return parse_month(self.month, timestamp)
        return build_recent_window(options.parse_duration(self.lookback or "30d"), timestamp)


def parse_dimensions(text: str) -> tuple[str, ...]:
    """Parse the names of --by. Raise BadParameter for a name that is not a dimension."""
    from gpustack.capacity.usage import DIMENSIONS

    names = tuple(dict.fromkeys(filter(None, (part.strip() for part in text.split(",")))))
    if wrong := [name for name in names if name not in DIMENSIONS]:
        raise options.refuse_names("--by", wrong, DIMENSIONS)
    return names


@contextmanager
def open_source(source: RecordedSource, session: Session) -> "Iterator[tuple[Prometheus, Spec]]":
    """Open the Prometheus of --prometheus, or else that of the cluster. Yield it with the spec of the inventory, which
    has the names of labels and the prices. A recording has its own."""
    if source.recording:
        from gpustack.metrics.recording import read_answers

        recording = read_answers(source.recording)
        yield recording.open_prometheus(), recording.spec
        return
    hosts = session.open_inventory(asks_hosts=source.uses_inventory)
    with prometheus.open_source(source, hosts, session.report) as server:
        yield server, hosts.spec
