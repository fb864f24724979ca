"""What the commands that read hours of GPUs have in common: the time, the labels, the Prometheus."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.gpu.prometheus import Source, forward_to

if TYPE_CHECKING:
    from gpustack.capacity.window import Window
    from gpustack.config.inventory import Inventory
    from gpustack.metrics.prometheus import Prometheus

SinceOption = Annotated[
    str, typer.Option("--since", metavar="TIME", help="How long ago it begins, in whole hours: 12h, 7d, 30d.")
]
MonthOption = Annotated[str, typer.Option("--month", metavar="YYYY-MM", help="Instead of it a month, in UTC.")]
ClusterOption = Annotated[
    str, typer.Option("--cluster", metavar="NAME", help="One of several clusters (the external label cluster).")
]
ByOption = Annotated[
    str,
    typer.Option("--by", metavar="NAMES", help="day, pool, node, model, profile, namespace, team; comma-separated."),
]


@dataclass(frozen=True)
class Period:
    """Options that say which hours."""

    since: SinceOption = "30d"
    month: MonthOption = ""
    cluster: ClusterOption = ""

    def window(self, now: float) -> "Window":
        """Raises UsageError."""
        from gpustack.capacity.window import month_of, since

        return month_of(self.month, now) if self.month else since(options.parse_duration(self.since), now)


def dimensions(text: str) -> tuple[str, ...]:
    """Raises BadParameter for a name that is none of them."""
    from gpustack.capacity.usage import DIMENSIONS

    names = tuple(dict.fromkeys(filter(None, (one.strip() for one in text.split(",")))))
    if wrong := [name for name in names if name not in DIMENSIONS]:
        raise typer.BadParameter(f"--by takes {', '.join(DIMENSIONS)}, not {', '.join(wrong)}")
    return names


@contextmanager
def open_source(
    source: Source, inventory: Path | None, *, become: bool, quiet: bool
) -> "Iterator[tuple[Prometheus, Inventory]]":
    """The Prometheus that is given, else that of the cluster; and the inventory in any case, which has the names of
    labels, and prices."""
    from gpustack.metrics.prometheus import Prometheus
    from gpustack.metrics.web import Access

    hosts = session.open_inventory(inventory, ask_password=become, quiet=quiet)
    if source.address:
        yield Prometheus(source.access()), hosts
        return
    from gpustack.proof.services import SCHEME

    with forward_to("prometheus", hosts, session.progress(quiet=quiet)) as (address, number):
        yield Prometheus(Access(f"{SCHEME}://{address}:{number}")), hosts
