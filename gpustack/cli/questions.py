"""Questions on the terminal: whether to go on, and whether without a lock, which the option --yes does not answer."""

import sys
from collections.abc import Sequence

from gpustack.ask.snapshot import Snapshot
from gpustack.cli import session
from gpustack.command import NO_HINT
from gpustack.errors import RolloutError
from gpustack.rollout.lease import Places, choose_places, find_silent_planes
from gpustack.rollout.next_command import build_command


def confirm(question: str) -> bool:
    """Ask a question on the terminal. Return False without a terminal, where --yes is needed."""
    if not sys.stdin.isatty():
        return False
    sys.stderr.write(f"\n{question} [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def agree_on_places(
    snapshot: Snapshot, words: Sequence[str], names: Sequence[str] = (), unlocked_hosts: Sequence[str] | None = None
) -> Places:
    """Choose the hosts to lock. Each control plane that was not reached has to be confirmed by its name, in
    `unlocked_hosts` or typed on a terminal. `words` are the command to repeat, and may be empty. Raise UsageError for a
    name that is not in the inventory, and RolloutError without a confirmation."""
    confirmed_hosts = session.choose_hosts(snapshot.inventory, list(unlocked_hosts) if unlocked_hosts else None)
    silent_hosts = [host.name for host in find_silent_planes(snapshot) if host.name not in confirmed_hosts]
    places = choose_places(snapshot, names)
    for name in silent_hosts:
        reason = f"{name}: {snapshot.reach[name].reason}"
        if sys.stdin.isatty():
            risk = f"{name} has the lock of the cluster: another operator may be changing the cluster now."
            sys.stderr.write(f"\n{reason}\n{risk}\nType {name} to go on without its lock: ")
            sys.stderr.flush()
            if sys.stdin.readline().strip() == name:
                continue
        message = f"The lock on {name} cannot be taken, because {name} was not reached; nothing was changed."
        options = [word for silent_host in silent_hosts for word in ("--without-lock", silent_host)]
        repeat = build_command(snapshot.inventory, *words)
        hint = repeat.extend(*options, note="only if nobody else changes the cluster") if words else NO_HINT
        raise RolloutError("lock-unreached", message, reason, hint)
    return places
