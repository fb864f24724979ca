"""The question about a lock that cannot be taken, because its host was not reached. --yes is no answer to it."""

import sys
from collections.abc import Sequence

from gpustack.ask.snapshot import Snapshot
from gpustack.cli import session
from gpustack.command import Command
from gpustack.errors import RolloutError
from gpustack.rollout.lease import Places, choose_places, find_silent_planes
from gpustack.rollout.next import build_command


def agree_on_places(
    snapshot: Snapshot, words: Sequence[str], names: Sequence[str] = (), without: Sequence[str] | None = None
) -> Places:
    """Choose the hosts to lock, after a confirmation of its own for each control plane that was not reached: its name
    in `without`, or typed on a terminal. `words` are the command to repeat, if there is one for it. Raises
    UsageError for a name that the inventory does not have, and RolloutError."""
    confirmed = session.choose_hosts(snapshot.inventory, list(without) if without else None)
    silent = [host.name for host in find_silent_planes(snapshot) if host.name not in confirmed]
    places = choose_places(snapshot, names)
    for name in silent:
        why = f"{name}: {snapshot.reach[name].why}"
        if sys.stdin.isatty():
            risk = f"{name} has the lock of the cluster: another operator may be changing the cluster now."
            sys.stderr.write(f"\n{why}\n{risk}\nType {name} to go on without its lock: ")
            sys.stderr.flush()
            if sys.stdin.readline().strip() == name:
                continue
        message = f"The lock on {name} cannot be taken, because {name} was not reached; nothing was changed."
        options = [word for other in silent for word in ("--without-lock", other)]
        repeated = build_command(snapshot.inventory, *words)
        hint = repeated.extend(*options, note="only if nobody else changes the cluster")
        hint = hint if words else Command("gpustack", "explain", "lock-unreached")
        raise RolloutError("lock-unreached", message, why, hint)
    return places
