"""The limits of a rollout's waiting, in seconds, each times the spec's timeout_factor."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.probes.containerd.pull_progress import PULL_PROGRESS, PullProgress
from gpustack.rollout.plan import StepState

PAUSE = 1.0
# For what only a person can repair: after a restart it may look so for a moment, not longer.
PERSON = 45.0
# And for what passes by itself: before its step is played all the same, and when all steps are through.
FIRST, LAST = 60.0, 60.0
# For a step whose images keep arriving. Other programs may pull images, too.
PULLING = 3600.0


def pause_between_rounds(gather_seconds: float, find_stop_reason: Callable[[], object], pause: float) -> None:
    """Pause between two rounds of asking, which is work for the hosts. The pause is as long as the last round took,
    `gather_seconds`, or `pause` where that is longer: a slow host would do nothing but answer."""
    remaining = max(pause, gather_seconds)
    deadline = time.monotonic() + remaining
    while True:
        time.sleep(min(remaining, pause))
        remaining = deadline - time.monotonic()
        if remaining <= 0 or find_stop_reason():
            return


@dataclass
class Settling:
    """Measure the time that a step has until its checks hold: `limit`, anew whenever a host has more of images than
    ever before, and PULLING in all. A container that is begun again and again is no progress."""

    limit: float
    factor: int = 1
    peaks: dict[str, PullProgress] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.started_at = self.progressed_at = time.monotonic()

    def update_progress(self, snapshot: Snapshot) -> None:
        for view in (View(snapshot, host.name) for host in snapshot.inventory.hosts):
            if not view.has_fact(PULL_PROGRESS):
                continue
            amount, before = view[PULL_PROGRESS], self.peaks.get(view.location, view[PULL_PROGRESS])
            self.peaks[view.location] = PullProgress(
                max(amount.bytes, before.bytes), max(amount.snapshots, before.snapshots)
            )
            if self.peaks[view.location] != before:
                self.progressed_at = time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started_at

    @property
    def pulled_too_long(self) -> bool:
        return self.seconds > PULLING * self.factor

    def describe(self) -> str:
        """Describe the limit that was reached."""
        if self.pulled_too_long:
            return f" (given up after {PULLING * self.factor:.0f} s, while images were still arriving)"
        if self.peaks:
            return f" (after {self.seconds:.0f} s, with no progress of an image in the last {self.limit:.0f} s)"
        return f" (after {self.limit:.0f} s)"

    def is_over(self) -> bool:
        """Tell whether all open steps have needed a person for longer than the limit. Each call looks at the time."""
        return time.monotonic() - self.progressed_at > self.limit or self.pulled_too_long


@dataclass
class Patience:
    """Measure how long all open steps have needed a person, so that waiting is of no use."""

    factor: int = 1
    started_at: float | None = None

    def is_over(self, open_states: Sequence[StepState]) -> bool:
        if not all(map(needs_person, open_states)):
            self.started_at = None
            return False
        if self.started_at is None:
            self.started_at = time.monotonic()
        return time.monotonic() - self.started_at > PERSON * self.factor


def needs_person(step_state: StepState) -> bool:
    """Tell whether a person, or `upgrade`, has to change something."""
    return any(mismatch.cure != "install" for mismatch in step_state.differences)
