"""The command `gpustack gpu burn`, which loads free GPUs for a limited time and compares them with expected values."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.gpu.engines import EngineSession, run_work
from gpustack.cli.session import split_words

if TYPE_CHECKING:
    from gpustack.burn.judge import Burn


@dataclass(frozen=True)
class Limits:
    """Hold the options that limit the time and the temperature of a load."""

    # Exporters are scraped every 30 s, so a shorter load leaves no sample of it alone.
    duration: Annotated[
        str,
        options.build_time_option("--for", "1m", "1h", text="Duration of the load, 1m to 1h."),
    ] = "1m"
    max_temperature: Annotated[
        int | None,
        typer.Option(
            "--max-temperature",
            min=1,
            metavar="CELSIUS",
            help="Stop at this temperature. Default: the limit of each GPU.",
        ),
    ] = None
    blind: Annotated[
        bool, typer.Option("--without-temperature", help="Load GPUs even if their temperature cannot be read.")
    ] = False


def complete_load(incomplete: str) -> list[str]:
    from gpustack.burn.loads import list_load_names

    return [name for name in list_load_names() if name.startswith(incomplete)]


def burn(
    *,
    field: Annotated[
        str,
        typer.Option(
            "--field", metavar="FIELD", help="Field of DCGM to load, by name or id.", autocompletion=complete_load
        ),
    ] = "tensor-active",
    limits: Limits,
    gpu: Annotated[
        list[str] | None,
        typer.Option("--gpu", metavar="UUID", help="Load only these GPUs (repeatable, or comma-separated)."),
    ] = None,
    session: EngineSession,
) -> "Burn":
    """Stress-test free GPUs with DCGM's dcgmproftester, and compare them with the values that DCGM expects.

    The load runs on one node unless --node names several, in pods that end by themselves. Ctrl-C and heat stop it. The
    command exits with 1 if a GPU failed, and with 8 if one is unknown."""
    from gpustack.burn.loads import choose_load

    load, seconds = choose_load(field), int(options.parse_duration(limits.duration))
    hosts = session.open_for_change()
    from gpustack.burn.nodes import choose_nodes
    from gpustack.burn.task import Task
    from gpustack.burn.watch import open_watcher
    from gpustack.engines.engine import PROBES, find_idle
    from gpustack.proof.inventory import gather_offers

    snapshot, uuids = session.gather(hosts, PROBES), split_words(gpu)
    idle_engines = find_idle(snapshot, split_words(session.node))
    metric, limit = load.field.name, limits.max_temperature
    with open_watcher(hosts, metric, limit, session.report, blind=limits.blind) as watcher:
        engines = choose_nodes(idle_engines, uuids, watcher, several=bool(session.node))
        task = Task(snapshot, load, seconds, uuids, watcher)
        change, _ = run_work(session, snapshot, engines, task.operation, act=task.run)
    return task.judge(change, engines, gather_offers(hosts, session.report))
