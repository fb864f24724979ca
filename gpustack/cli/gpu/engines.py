"""Options and runs of the commands that query or change GPUs through DCGM's host engines."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli.option_groups import LockSession, Session
from gpustack.cli.session import split_words
from gpustack.errors import LockedError
from gpustack.events import Event

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


@dataclass
class QuerySession(Session):
    """Hold the options of commands that read host engines."""

    node: NodesOption = None


@dataclass
class EngineSession(LockSession):
    """Hold the options of commands that change GPUs through their host engines."""

    node: NodesOption = None


def open_engines(
    session: QuerySession | EngineSession, hosts: "Inventory", *, cordoned: bool = False
) -> "tuple[Snapshot, Engines]":
    """Find the host engines of nodes. With `cordoned`, the GPUs of a cordoned node count as free. Raise
    UnreachableError where no host answers, and UsageError for an unknown node."""
    node_names = split_words(session.node)
    from gpustack.engines.engine import PROBES, find_engines

    snapshot = session.gather(hosts, PROBES)
    return snapshot, find_engines(snapshot, node_names, cordoned=cordoned)


def open_for_query(session: QuerySession) -> "Engines":
    """Open the engines of a read-only command. Overdue changes of a killed gpustack are reverted first, unless another
    process holds the lock."""
    hosts = session.open_inventory()
    snapshot, engines = open_engines(session, hosts)
    if engines.overdue:
        from gpustack.rollout.lease import find_silent_planes
        from gpustack.rollout.run import open_locked_run

        try:
            if silent_planes := find_silent_planes(snapshot):
                names = ", ".join(host.name for host in silent_planes)
                raise LockedError("lock-unreached", f"The lock on {names} cannot be taken.")
            with open_locked_run(hosts, "gpu", choose_engine_places(snapshot, ()), session.report) as run:
                restorations = make_change(session, run, engines, yes=True).revert_overdue()
            from gpustack.engines.revert import FINAL_ENDINGS

            engines = engines.drop_marks(
                restoration.place for restoration in restorations if restoration.ending in FINAL_ENDINGS
            )
        except LockedError as error:
            session.report(Event("note", "", f"a temporary change is overdue and was not put back: {error.message}"))
    return engines


def choose_engine_places(snapshot: "Snapshot", without_lock: Sequence[str] | None) -> "Places":
    """Choose the control planes, through which the pods of host engines are reached, and all hosts without Kubernetes.
    Raise RolloutError where a control plane was not reached and is not in `without_lock`."""
    from gpustack.cli.questions import agree_on_places

    host_names = [host.name for host in snapshot.inventory.hosts if host.standalone or host.control_plane]
    return agree_on_places(snapshot, [], host_names, without_lock)


def make_change(session: Session, run: "Run", engines: "Engines", *, yes: bool) -> "Change":
    from gpustack.cli.questions import confirm
    from gpustack.engines.change import Change
    from gpustack.events import format_count

    def agree(preview: "Preview") -> bool:
        nodes = format_count(len(preview.engines.members), "node")
        return yes or confirm(f"{preview.operation.name[0].upper()}{preview.operation.name[1:]} on {nodes}?")

    return Change(engines, run.lock.holder, session.show_preview, agree, run.record, run.find_stop_reason)


def run_work(
    session: EngineSession,
    snapshot: "Snapshot",
    engines: "Engines",
    work: "Operation",
    *,
    guard: "Callable[[Run], AbstractContextManager[Mapping[str, str]]] | None" = None,
    act: "Callable[[Run, Sequence[Engine]], list[Reply]] | None" = None,
    finish: "Callable[[Run, ChangeResult], None] | None" = None,
) -> "tuple[ChangeResult, list[Reply]]":
    """Apply an operation under the locks, and `finish` what follows from its result. Return the result and the replies
    of dcgmi. Raise RolloutError where it was declined, and LockedError."""
    places = choose_engine_places(snapshot, session.without_lock)
    with session.open_run(snapshot.inventory, "gpu", places) as run:
        change = make_change(session, run, engines, yes=session.yes)
        if guard:
            change = replace(change, context=lambda: guard(run))
        if act:
            change = replace(change, act=lambda chosen_engines: act(run, chosen_engines))
        result, replies = change.apply_operation(work)
        run.keep(lambda folder: write_replies(replies, folder))
        if finish:
            finish(run, result)
    return result, replies


def write_replies(replies: "Sequence[Reply]", folder: Path) -> None:
    from gpustack.files.write import write_file

    for number, reply in enumerate(replies):
        text = (
            f"{reply.node} $ {reply.command}\n{reply.stdout}\n{reply.stderr}\n{reply.missing_reason or reply.status}\n"
        )
        write_file(folder / f"dcgmi-{number}.txt", text)
