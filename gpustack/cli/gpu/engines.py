"""Options and runs of the commands that query or change GPUs through DCGM's host engines."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options, session
from gpustack.errors import LockedError
from gpustack.events import Event, Reporter
from gpustack.report.renderings import LISTING

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot
    from gpustack.config.inventory import Inventory
    from gpustack.engines.call import Reply
    from gpustack.engines.change import Change, ChangeResult, Operation, Preview
    from gpustack.engines.engine import Engine, Engines
    from gpustack.rollout.lease import Places
    from gpustack.rollout.run import Run

NodesOption = Annotated[
    list[str] | None,
    typer.Option("--node", metavar="NAME", help="Limit the command to these nodes (repeatable, or comma-separated)."),
]


def open_engines(hosts: "Inventory", nodes: Sequence[str] | None, report: Reporter) -> "tuple[Snapshot, Engines]":
    """Find the host engines of nodes. Raise UnreachableError where no host answers, and UsageError for an unknown
    node."""
    node_names = session.split_words(nodes)
    from gpustack.engines.engine import PROBES, find_engines

    snapshot = session.gather_all(hosts, report, PROBES)
    return snapshot, find_engines(snapshot, node_names)


@dataclass(frozen=True)
class QueryOptions:
    """Hold the options that all read-only commands share."""

    inventory: options.InventoryOption = None
    node: NodesOption = None
    output: Annotated[str, LISTING] = "human"
    become: options.BecomeOption = False
    quiet: options.QuietOption = False


def open_for_query(query_options: QueryOptions) -> "tuple[Inventory, Engines]":
    """Open the engines of a read-only command. Overdue changes of a killed gpustack are reverted first, unless another
    process holds the lock."""
    report = session.build_reporter(quiet=query_options.quiet)
    hosts = session.open_inventory(
        query_options.inventory, ask_password=query_options.become, quiet=query_options.quiet
    )
    snapshot, engines = open_engines(hosts, query_options.node, report)
    if engines.overdue:
        from gpustack.rollout.lease import find_silent_planes
        from gpustack.rollout.run import open_locked_run

        try:
            if silent := find_silent_planes(snapshot):
                names = ", ".join(host.name for host in silent)
                raise LockedError("lock-unreached", f"The lock on {names} cannot be taken.")
            with open_locked_run(hosts, "gpu", choose_engine_places(snapshot, ()), report) as run:
                restorations = make_change(run, engines, "human", yes=True).revert_overdue()
            from gpustack.engines.revert import GONE

            engines = engines.drop_marks(
                restoration.place for restoration in restorations if restoration.ending in GONE
            )
        except LockedError as error:
            report(Event("note", "", f"a temporary change is overdue and was not put back: {error.message}"))
    return hosts, engines


def choose_engine_places(snapshot: "Snapshot", without_lock: Sequence[str] | None) -> "Places":
    """Choose the control planes, through which the pods of host engines are reached, and all hosts without Kubernetes.
    Raise RolloutError where a control plane was not reached and is not in `without_lock`."""
    from gpustack.cli.questions import agree_on_places

    host_names = [host.name for host in snapshot.inventory.hosts if host.standalone or host.control_plane]
    return agree_on_places(snapshot, [], host_names, without_lock)


def make_change(run: "Run", engines: "Engines", output: str, *, yes: bool) -> "Change":
    from gpustack.cli.questions import confirm
    from gpustack.engines.change import Change
    from gpustack.events import format_count
    from gpustack.report.render import show_result

    def show_preview(preview: "Preview") -> None:
        if output == "human":
            show_result(preview, output, inventory=run.hosts)

    def agree(preview: "Preview") -> bool:
        nodes = format_count(len(preview.engines.members), "node")
        return yes or confirm(f"{preview.operation.name[0].upper()}{preview.operation.name[1:]} on {nodes}?")

    return Change(engines, run.lock.holder, show_preview, agree, run.record, run.find_stop_reason)


def run_work(
    hosts: "Inventory",
    snapshot: "Snapshot",
    engines: "Engines",
    work: "Operation",
    output: str,
    report: Reporter,
    *,
    yes: bool,
    guard: "Callable[[Run], AbstractContextManager[Mapping[str, str]]] | None" = None,
    act: "Callable[[Run, Sequence[Engine]], list[Reply]] | None" = None,
    without_lock: Sequence[str] | None = None,
) -> "tuple[ChangeResult, list[Reply], Path]":
    """Apply an operation under the locks. Return its result, the replies of dcgmi, and the folder of the evidence.
    Raise RolloutError where it was declined, and LockedError."""
    from gpustack.rollout.run import open_locked_run

    with open_locked_run(hosts, "gpu", choose_engine_places(snapshot, without_lock), report) as run:
        change = make_change(run, engines, output, yes=yes)
        if guard:
            change = replace(change, context=lambda: guard(run))
        if act:
            change = replace(change, act=lambda chosen_engines: act(run, chosen_engines))
        result, replies = change.apply_operation(work)
        run.keep(lambda folder: write_replies(replies, folder))
    return result, replies, run.folder


def write_replies(replies: "Sequence[Reply]", folder: Path) -> None:
    from gpustack.files.write import write_file

    for number, reply in enumerate(replies):
        text = (
            f"{reply.node} $ {reply.command}\n{reply.stdout}\n{reply.stderr}\n{reply.missing_reason or reply.status}\n"
        )
        write_file(folder / f"dcgmi-{number}.txt", text)
