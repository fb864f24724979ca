"""Reset: one playbook that undoes the steps on the hosts, then the same questions again."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpustack.ask.snapshot import Snapshot
from gpustack.events import Event, Reporter
from gpustack.rollout.plan import Played
from gpustack.rollout.removal import HostRemoval, Removal, removal

PLAYBOOK = "reset"

Play = Callable[[Sequence[str], Mapping[str, Mapping[str, Any]]], Played]
"""Plays the playbook on hosts, each with further variables."""


@dataclass(frozen=True)
class ResetOutcome:
    """`before` is what was to go, `after` what the same questions find now. `seconds` for all of it."""

    before: Removal
    played: Played | None
    after: Removal
    seconds: float
    stopped: str = ""

    @property
    def left(self) -> tuple[HostRemoval, ...]:
        """Hosts on which something is known to be left, though it was to go."""
        return tuple(one for one in self.after.hosts if one.node or one.traces or one.packages or one.holds)

    @property
    def unknown(self) -> tuple[HostRemoval, ...]:
        return tuple(one for one in self.after.hosts if one.unknown)


def reset(
    before: Removal,
    names: Sequence[str],
    gather: Callable[[], Snapshot],
    play: Play,
    report: Reporter,
    *,
    packages: bool,
    cancelled: Callable[[], str] = lambda: "",
) -> ResetOutcome:
    """Never raises for a failing host or task: the outcome says what happened. `cancelled` says why to stop."""
    started = time.monotonic()
    hosts = [one.host for one in before.due]
    report(Event("step", PLAYBOOK, ", ".join(hosts)))
    played = play(hosts, {one.host: variables(before, one) for one in before.due}) if not cancelled() else None
    report(Event("done", PLAYBOOK, ""))
    after = removal(gather(), names, packages=packages)
    return ResetOutcome(before, played, after, time.monotonic() - started, cancelled())


def variables(before: Removal, found: HostRemoval) -> dict[str, Any]:
    """What the roles' tasks/reset.yml read: no more than what was shown."""
    spec = before.snapshot.inventory.spec
    return {
        "gpustack_reset": {
            "node": found.node,
            "drain": found.drain,
            "packages": list(found.packages),
            "holds": list(found.holds),
            "pod_cidr": str(spec.kubernetes.pod_cidr),
        }
    }
