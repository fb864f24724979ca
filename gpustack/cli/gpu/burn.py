"""`gpustack gpu burn`: a full load on free GPUs for a bounded time, and whether they reach what is expected."""

from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.cli.gpu.diag import read_offers
from gpustack.cli.gpu.engines import NodesOption, run_work
from gpustack.cli.gpu.prometheus import forward_to
from gpustack.command import Command
from gpustack.errors import GpustackError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpustack.config.inventory import Inventory
    from gpustack.events import Reporter
    from gpustack.gpus.burn.watch import Watcher
    from gpustack.gpus.engines.engine import Engines

LEAST, MOST = 60, 3600
"""Seconds. Exporters are scraped every 30 s: a shorter load leaves no value that is of it alone."""


@dataclass(frozen=True)
class Limits:
    """How long, and how hot."""

    duration: Annotated[str, typer.Option("--for", metavar="TIME", help="How long, 1m to 1h.")] = "1m"
    most: Annotated[
        int | None,
        typer.Option("--max-temperature", min=1, metavar="CELSIUS", help="Stop there. Default: what each GPU says."),
    ] = None
    blind: Annotated[bool, typer.Option("--without-temperature", help="Also where heat cannot be read.")] = False

    @property
    def seconds(self) -> int:
        """Raises UsageError."""
        seconds = int(options.parse_duration(self.duration))
        if not LEAST <= seconds <= MOST:
            message = f"--for takes {LEAST // 60}m to {MOST // 3600}h, not {self.duration}."
            raise UsageError("gpu-burn-time", message, "", Command("gpustack", "explain", "gpu-burn-time"))
        return seconds


def burn(
    *,
    field: Annotated[
        str, typer.Option("--field", metavar="FIELD", help="What is loaded: a field of DCGM, by name or id.")
    ] = "tensor-active",
    limits: Limits,
    inventory: options.InventoryOption = None,
    node: NodesOption = None,
    gpu: Annotated[
        list[str] | None, typer.Option("--gpu", metavar="UUID", help="Only these GPUs (repeatable, or with commas).")
    ] = None,
    yes: options.YesOption = False,
    without_lock: options.WithoutLockOption = None,
    this_host: options.ThisHostOption = False,
    output: options.ShortOutputOption = options.ShortOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Load free GPUs fully with DCGM's dcgmproftester, and compare what they reach with what DCGM expects.

    On one node unless --node names several, by pods that end by themselves. Ctrl-C and heat stop it. Exits with 1 when
    a GPU failed, with 8 when one is unknown."""
    from gpustack.gpus.burn.loads import choose_load

    load, seconds = choose_load(field), limits.seconds
    report = session.progress(quiet=quiet)
    hosts = session.open_to_change(inventory, this_host=this_host, yes=yes, ask_password=become, quiet=quiet)
    from gpustack.cli.gpu.load import Task
    from gpustack.gpus.burn.judge import Burn, judge_gpus
    from gpustack.gpus.engines.engine import PROBES, compare_offers, find_idle
    from gpustack.gpus.engines.works import load_gpus
    from gpustack.report.codes import burn_code
    from gpustack.report.render import show

    taken, wanted = session.gather_all(hosts, report, PROBES), session.split_words(gpu)
    idle = find_idle(taken, session.split_words(node))
    with ExitStack() as opened:
        watcher = open_watcher(opened, hosts, load.field.name, limits, report)
        engines = choose_nodes(idle, wanted, watcher, several=bool(node))
        if not limits.blind:
            require_temperatures(watcher, engines, limits.most)
        task = Task(taken, load, seconds, tuple(wanted), watcher)
        work = load_gpus(f"{load.field.name} for {seconds} s", task.command, task.life, blind=limits.blind)
        done, _, folder = run_work(
            hosts, taken, engines, work, output.value, report, yes=yes, act=task.act, without_lock=without_lock
        )
    if task.refused:
        raise task.refused
    watched = watcher.gpus if watcher else {}
    gpus = judge_gpus(load, task.pods(), watched, task.stopped, blind=limits.blind)
    lost, unread = compare_offers(engines, read_offers(hosts, report))
    found = Burn(load, seconds, gpus, {**engines.unread, **unread}, lost, done.seconds, task.stopped, task.left)
    show(found, output.value, inventory=hosts, evidence=str(folder))
    raise typer.Exit(burn_code(found))


def open_watcher(
    opened: ExitStack, hosts: "Inventory", metric: str, limits: Limits, report: "Reporter"
) -> "Watcher | None":
    """None where Prometheus is not reached, and need not be. Raises UsageError."""
    from gpustack.gpus.ask import ask_readings
    from gpustack.gpus.burn.watch import FIELDS, Watcher, explain_unknown
    from gpustack.metrics.prometheus import Prometheus
    from gpustack.metrics.web import Access
    from gpustack.proof.services import SCHEME

    try:
        address, number = opened.enter_context(forward_to("prometheus", hosts, report))
    except GpustackError as error:
        if limits.blind:
            return None
        raise explain_unknown(error.message) from error
    prometheus = Prometheus(Access(f"{SCHEME}://{address}:{number}"))
    ask = lambda: ask_readings(prometheus, (metric, *FIELDS))  # noqa: E731
    return Watcher(prometheus.now, ask, metric, limits.most, limits.blind)


def choose_nodes(idle: "Engines", wanted: "Sequence[str]", watcher: "Watcher | None", *, several: bool) -> "Engines":
    """Those of the wanted GPUs, all that were named, or the one with the most free GPUs. Raises UsageError."""
    if wanted:
        places = watcher.places() if watcher else {}
        if odd := [uuid for uuid in wanted if uuid not in places]:
            message, why = f"There is no GPU {', '.join(odd)}.", "Prometheus has no metrics of it."
            raise UsageError("gpu-no-gpu", message, why, Command("gpustack", "gpu", "list", "-o", "json"))
        nodes = {places[uuid] for uuid in wanted}
        found = tuple(one for one in idle.found if one.node in nodes)
        missing = {node: idle.unread.get(node, "it was not named, or has no GPUs") for node in nodes}
        if not found:
            why = "\n".join(f"{node}: {reason}" for node, reason in missing.items())
            raise UsageError(
                "gpu-none-free", "No GPU is free; nothing was done.", why, Command("gpustack", "gpu", "top", "pods")
            )
        for one in found:
            missing.pop(one.node)
        return replace(idle, found=found, unread=missing)
    if several:
        return idle
    return replace(idle, found=(max(idle.found, key=lambda one: one.free),), unread={})


def require_temperatures(watcher: "Watcher | None", engines: "Engines", most: int | None) -> None:
    """Raises UsageError."""
    from gpustack.gpus.burn import watch

    if watcher:
        watch.require_temperatures(watcher.ask, {one.node: one.gpus for one in engines.found}, most)
