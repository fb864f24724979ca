"""Options and the lock that the commands `gpustack node` share."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli.option_groups import LockSession
from gpustack.errors import RolloutError

if TYPE_CHECKING:
    from gpustack.ask.snapshot import Snapshot
    from gpustack.nodes.node_change import NodeWriter
    from gpustack.rollout.run import Run

NodeArgument = Annotated[str, typer.Argument(metavar="NODE", help="Name of the node in Kubernetes.")]
EndPodOption = Annotated[
    list[str] | None,
    typer.Option(
        "--end-pod",
        metavar="NAMESPACE/NAME",
        help="Evict this pod as well, which has no controller or has emptyDir data; NAME may have * (repeatable, or "
        "comma-separated).",
    ),
]
CheckOption = Annotated[bool, typer.Option("--check", help="Only show what would happen, and change nothing.")]


def list_pod_words(ended_pods: Sequence[str]) -> list[str]:
    """List the options that name pods, for a command to repeat."""
    return [word for name in ended_pods for word in ("--end-pod", name)]


def require_agreement(session: LockSession, snapshot: "Snapshot", question: str, words: Sequence[str]) -> None:
    """Ask the question unless --yes answers it. `words` are the command to repeat. Raise RolloutError for a no."""
    from gpustack.cli.questions import confirm
    from gpustack.rollout.next_command import build_command

    if session.yes or confirm(question):
        return
    hint = build_command(snapshot.inventory, *words, "--yes")
    raise RolloutError("node-declined", "Nothing was changed.", "It was declined.", hint)


@contextmanager
def open_node_run(
    session: LockSession, snapshot: "Snapshot", words: Sequence[str], names: Sequence[str] = ()
) -> "Iterator[tuple[Run, NodeWriter]]":
    """Open a run that holds the locks of the control planes and of the hosts with these names, with a writer through
    the acting control plane. Raise RolloutError and LockedError where a lock cannot be taken."""
    from gpustack.ask.probe import CLUSTER
    from gpustack.ask.view import View
    from gpustack.cli.questions import agree_on_places
    from gpustack.nodes.node_change import NodeWriter

    planes = [host.name for host in snapshot.inventory.control_planes]
    places = agree_on_places(snapshot, words, [*planes, *names], session.without_lock)
    with session.open_run(snapshot.inventory, words[0], places) as run:
        yield run, NodeWriter(View(snapshot, CLUSTER).host, run.execute, run.lock.holder)
