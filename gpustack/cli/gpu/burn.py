"""The command `gpustack gpu burn`, which loads free GPUs for a limited time and compares them with expected values."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.gpu.diag import read_offers
from gpustack.cli.gpu.engines import NodesOption, run_work
from gpustack.command import Command
from gpustack.errors import GpustackError, UsageError
from gpustack.report.renderings import BURN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpustack.config.inventory import Inventory
    from gpustack.engines.engine import Engines
    from gpustack.events import Reporter
    from gpustack.gpus.burn.watch import Watcher

LEAST, MOST = 60, 3600
"""Limits of --for in seconds. Exporters are scraped every 30 s, so a shorter load leaves no sample of it alone."""


@dataclass(frozen=True)
class Limits:
    """Hold the options that limit the time and the temperature of a load."""

    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="Duration of the load, 1m to 1h.")] = "1m"
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

    @property
    def seconds(self) -> int:
        """Return the duration in seconds. Raise UsageError for one that is too short or too long."""
        seconds = int(options.parse_duration(self.duration))
        if not LEAST <= seconds <= MOST:
            message = f"--for takes {LEAST // 60}m to {MOST // 3600}h, not {self.duration}."
            raise UsageError("gpu-burn-time", message, "", Command("gpustack", "explain", "gpu-burn-time"))
        return seconds


def burn(
    *,
    field: Annotated[
        str, typer.Option("--field", metavar="FIELD", help="Field of DCGM to load, by name or id.")
    ] = "tensor-active",
    limits: Limits,
    inventory: options.InventoryOption = None,
    node: NodesOption = None,
    gpu: Annotated[
        list[str] | None,
        typer.Option("--gpu", metavar="UUID", help="Load only these GPUs (repeatable, or comma-separated)."),
    ] = None,
    yes: options.YesOption = False,
    without_lock: options.WithoutLockOption = None,
    this_host: options.ThisHostOption = False,
    output: Annotated[str, BURN] = "human",
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Stress-test free GPUs with DCGM's dcgmproftester, and compare them with the values that DCGM expects.

    The load runs on one node unless --node names several, in pods that end by themselves. Ctrl-C and heat stop it. The
    command exits with 1 if a GPU failed, and with 8 if one is unknown."""
    from gpustack.gpus.burn.loads import choose_load

    load, seconds = choose_load(field), limits.seconds
    report = session.build_reporter(quiet=quiet)
    hosts = session.open_for_change(inventory, this_host=this_host, yes=yes, ask_password=become, quiet=quiet)
    from gpustack.cli.gpu.load import Task
    from gpustack.engines.engine import PROBES, compare_offers, find_idle
    from gpustack.engines.operations import load_gpus
    from gpustack.gpus.burn.judge import Burn, judge_gpus

    snapshot, uuids = session.gather_all(hosts, report, PROBES), session.split_words(gpu)
    idle = find_idle(snapshot, session.split_words(node))
    with ExitStack() as stack:
        watcher = open_watcher(stack, hosts, load.field.name, limits, report)
        engines = choose_nodes(idle, uuids, watcher, several=bool(node))
        if not limits.blind:
            require_temperatures(watcher, engines, limits.max_temperature)
        task = Task(snapshot, load, seconds, tuple(uuids), watcher)
        work = load_gpus(f"{load.field.name} for {seconds} s", task.command, task.life, blind=limits.blind)
        change, _, folder = run_work(
            hosts, snapshot, engines, work, output, report, yes=yes, act=task.act, without_lock=without_lock
        )
    if task.error:
        raise task.error
    readings = watcher.gpus if watcher else {}
    gpus = judge_gpus(load, task.list_pods(), readings, task.stop_reason, blind=limits.blind)
    lost_gpus, unread = compare_offers(engines, read_offers(hosts, report))
    result = Burn(
        load,
        seconds,
        gpus,
        {**engines.unread, **unread},
        lost_gpus,
        change.seconds,
        task.stop_reason,
        task.cleanup_error,
    )
    session.finish_command(result, output, inventory=hosts, evidence=str(folder))


def open_watcher(
    stack: ExitStack, hosts: "Inventory", metric: str, limits: Limits, report: "Reporter"
) -> "Watcher | None":
    """Open the Prometheus that has the temperatures. Return None where it is not reached and --without-temperature is
    set. Raise UsageError otherwise."""
    from gpustack.gpus.burn.watch import FIELDS, Watcher, build_heat_error
    from gpustack.gpus.queries import query_readings
    from gpustack.proof.connect import open_prometheus

    try:
        prometheus = stack.enter_context(open_prometheus(hosts, report))
    except GpustackError as error:
        if limits.blind:
            return None
        raise build_heat_error(error.message) from error
    ask = lambda: query_readings(prometheus, (metric, *FIELDS))  # noqa: E731
    return Watcher(prometheus.fetch_time, ask, metric, limits.max_temperature, limits.blind)


def choose_nodes(idle: "Engines", uuids: "Sequence[str]", watcher: "Watcher | None", *, several: bool) -> "Engines":
    """Choose the nodes of these GPUs, or all nodes of --node, or else the node with the most free GPUs. Raise
    UsageError for an unknown GPU, and where no GPU is free."""
    if uuids:
        places = watcher.map_nodes() if watcher else {}
        if unknown_uuids := [uuid for uuid in uuids if uuid not in places]:
            message, reason = f"There is no GPU {', '.join(unknown_uuids)}.", "Prometheus has no metrics of it."
            raise UsageError("gpu-no-gpu", message, reason, Command("gpustack", "gpu", "list", "-o", "json"))
        nodes = {places[uuid] for uuid in uuids}
        engines = tuple(engine for engine in idle.members if engine.node in nodes)
        missing = {node: idle.unread.get(node, "it was not named, or has no GPUs") for node in nodes}
        if not engines:
            reason = "\n".join(f"{node}: {cause}" for node, cause in missing.items())
            raise UsageError(
                "gpu-none-free", "No GPU is free; nothing was done.", reason, Command("gpustack", "gpu", "top", "pods")
            )
        for chosen_engine in engines:
            missing.pop(chosen_engine.node)
        return replace(idle, members=engines, unread=missing)
    if several:
        return idle
    return replace(idle, members=(max(idle.members, key=lambda engine: engine.free),), unread={})


def require_temperatures(watcher: "Watcher | None", engines: "Engines", max_temperature: int | None) -> None:
    """Raise UsageError where the temperature of a GPU cannot be read."""
    from gpustack.gpus.burn import watch

    if watcher:
        watch.require_temperatures(
            watcher.ask, {engine.node: engine.gpus for engine in engines.members}, max_temperature
        )
