"""What commands that ask or change GPUs through DCGM's host engines have in common."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.errors import LockedError
from gpustack.events import Event, Reporter

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot
    from gpustack.cli.locked_run import Run
    from gpustack.config.inventory import Inventory
    from gpustack.gpus.engines.call import Reply
    from gpustack.gpus.engines.change import Change, Changed, Preview, Work
    from gpustack.gpus.engines.engine import Engine, Engines
    from gpustack.rollout.lease import Places

NodesOption = Annotated[
    list[str] | None, typer.Option("--node", metavar="NAME", help="Only these nodes (repeatable, or comma-separated).")
]


def open_engines(hosts: "Inventory", nodes: Sequence[str] | None, report: Reporter) -> "tuple[Snapshot, Engines]":
    """Raises UnreachableError and UsageError."""
    wanted = session.split_words(nodes)
    from gpustack.gpus.engines.engine import PROBES, find_engines

    taken = session.gather_all(hosts, report, PROBES)
    return taken, find_engines(taken, wanted)


@dataclass(frozen=True)
class Asked:
    """The options of all that only ask."""

    inventory: options.InventoryOption = None
    node: NodesOption = None
    output: options.ShortOutputOption = options.ShortOutput.HUMAN
    become: options.BecomeOption = False
    quiet: options.QuietOption = False


def open_to_read(asked: Asked) -> "tuple[Inventory, Engines]":
    """What a killed gpustack left beyond its deadline is put back first, unless another one holds the lock."""
    report = session.progress(quiet=asked.quiet)
    hosts = session.open_inventory(asked.inventory, ask_password=asked.become, quiet=asked.quiet)
    taken, engines = open_engines(hosts, asked.node, report)
    if engines.overdue:
        from gpustack.cli.locked_run import locked_run
        from gpustack.rollout.lease import find_silent_planes

        try:
            if silent := find_silent_planes(taken):
                names = ", ".join(host.name for host in silent)
                raise LockedError("lock-unreached", f"The lock on {names} cannot be taken.")
            with locked_run(hosts, "gpu", choose_engine_places(taken, ()), report) as run:
                back = make_change(run, engines, "human", yes=True).put_back_overdue()
            from gpustack.gpus.engines.put_back import GONE

            engines = engines.without(one.place for one in back if one.ending in GONE)
        except LockedError as error:
            report(Event("note", "", f"a temporary change is overdue and was not put back: {error.message}"))
    return hosts, engines


def choose_engine_places(taken: "Snapshot", without_lock: Sequence[str] | None) -> "Places":
    """Choose the control planes, through which the pods of host engines are reached, and all hosts without Kubernetes.
    Raises RolloutError where a control plane was not reached, and is not in `without_lock`."""
    from gpustack.cli.lock_question import agree_on_places

    changed = [host.name for host in taken.inventory.hosts if host.standalone or host.control_plane]
    return agree_on_places(taken, [], changed, without_lock)


def make_change(run: "Run", engines: "Engines", output: str, *, yes: bool) -> "Change":
    from gpustack.cli.locked_run import confirm
    from gpustack.events import count
    from gpustack.gpus.engines.change import Change
    from gpustack.report.render import show

    def show_preview(preview: "Preview") -> None:
        if output == "human":
            show(preview, output, inventory=run.hosts)

    def agree(preview: "Preview") -> bool:
        nodes = count(len(preview.engines.found), "node")
        return yes or confirm(f"{preview.work.name[0].upper()}{preview.work.name[1:]} on {nodes}?")

    return Change(engines, run.lock.who, show_preview, agree, run.record, run.stop_reason)


def run_work(
    hosts: "Inventory",
    taken: "Snapshot",
    engines: "Engines",
    work: "Work",
    output: str,
    report: Reporter,
    *,
    yes: bool,
    around: "Callable[[Run], AbstractContextManager[Mapping[str, str]]] | None" = None,
    act: "Callable[[Run, Sequence[Engine]], list[Reply]] | None" = None,
    without_lock: Sequence[str] | None = None,
) -> "tuple[Changed, list[Reply], Path]":
    """Under the lock, with the evidence in a folder: what became of it, what dcgmi printed, and the folder. Raises
    RolloutError where it was declined, LockedError."""
    from gpustack.cli.locked_run import locked_run

    with locked_run(hosts, "gpu", choose_engine_places(taken, without_lock), report) as run:
        change = make_change(run, engines, output, yes=yes)
        if around:
            change = replace(change, around=lambda: around(run))
        if act:
            change = replace(change, act=lambda found: act(run, found))
        done, replies = change.make(work)
        run.keep(lambda folder: write_replies(replies, folder))
    return done, replies, run.folder


def write_replies(replies: "Sequence[Reply]", folder: Path) -> None:
    from gpustack.files.write import write_file

    for number, one in enumerate(replies):
        text = f"{one.node} $ {one.command}\n{one.out}\n{one.err}\n{one.lost or one.status}\n"
        write_file(folder / f"dcgmi-{number}.txt", text)
