"""For how long a rollout waits. In seconds, each times the spec's timeout_factor."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.probes.containerd.pulled import PULLED, Pulled
from gpustack.rollout.plan import StepState

PAUSE = 1.0
# For what only a person can repair: after a restart it may look so for a moment, not longer.
PERSON = 45.0
# And for what passes by itself: before its step is played all the same, and when all steps are through.
FIRST, LAST = 60.0, 60.0
# For a step whose images keep arriving. Other programs may pull images, too.
PULLING = 3600.0


def rest(took: float, cancelled: Callable[[], object], pause: float) -> None:
    """Between two times of asking, which is work for the hosts: a slow one has as long for what is waited for, or it
    would do nothing else. `took` are the seconds of the last asking, `pause` the least."""
    left = max(pause, took)
    until = time.monotonic() + left
    while True:
        time.sleep(min(left, pause))
        left = until - time.monotonic()
        if left <= 0 or cancelled():
            return


@dataclass
class Settling:
    """The time that a step has until its checks hold: `limit`, anew whenever a host has more of images than ever
    before, and PULLING in all. A container that is begun again and again is no progress."""

    limit: float
    factor: int = 1
    most: dict[str, Pulled] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.started = self.moved = time.monotonic()

    def watch(self, snapshot: Snapshot) -> None:
        for here in (View(snapshot, host.name) for host in snapshot.inventory.hosts):
            if not here.available(PULLED):
                continue
            now, before = here[PULLED], self.most.get(here.where, here[PULLED])
            self.most[here.where] = Pulled(max(now.bytes, before.bytes), max(now.snapshots, before.snapshots))
            if self.most[here.where] != before:
                self.moved = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    @property
    def pulled_too_long(self) -> bool:
        return self.seconds > PULLING * self.factor

    def describe(self) -> str:
        """Which limit it was."""
        if self.pulled_too_long:
            return f" (given up after {PULLING * self.factor:.0f} s, while images were still arriving)"
        if self.most:
            return f" (after {self.seconds:.0f} s, with no progress of an image in the last {self.limit:.0f} s)"
        return f" (after {self.limit:.0f} s)"

    def is_over(self) -> bool:
        return time.monotonic() - self.moved > self.limit or self.pulled_too_long


@dataclass
class Patience:
    """For how long everything that is open has been for a person."""

    factor: int = 1
    since: float | None = None

    def is_over(self, open_ones: Sequence[StepState]) -> bool:
        if not all(map(needs_person, open_ones)):
            self.since = None
            return False
        if self.since is None:
            self.since = time.monotonic()
        return time.monotonic() - self.since > PERSON * self.factor


def needs_person(found: StepState) -> bool:
    """A person, or `upgrade`, has to change something of it."""
    return any(mismatch.cure != "install" for mismatch in found.differences)
