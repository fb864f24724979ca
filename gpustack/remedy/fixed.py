"""What a fix comes to. All of it is values; report writes them down."""

from dataclasses import dataclass
from typing import Literal

from gpustack.doctor.finding import Diagnosis
from gpustack.remedy.offer import Offer
from gpustack.remedy.records import HostRecord
from gpustack.remedy.undo import Remainder, Rollback
from gpustack.rollout.plan import Played

Ending = Literal["fixed", "recovered", "not-resolved", "interrupted", "declined", "manual"]


@dataclass(frozen=True)
class Attempt:
    """The fix of one root cause. `records` are what it changed, by host; `rollback` is None where nothing was rolled
    back; `why` says more of how it ended; `remaining` are symptoms that were still there when the waiting ended."""

    offer: Offer
    ending: Ending
    played: Played | None = None
    records: tuple[HostRecord, ...] = ()
    rollback: Rollback | None = None
    why: str = ""
    remaining: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def tried(self) -> bool:
        return self.played is not None

    @property
    def undone(self) -> tuple[str, ...]:
        return self.rollback.did if self.rollback else ()

    @property
    def left(self) -> tuple[Remainder, ...]:
        return self.rollback.left if self.rollback else ()

    @property
    def stays(self) -> bool:
        """Say whether something of it is on the hosts that `--undo` can roll back."""
        return self.tried and self.rollback is None


@dataclass(frozen=True)
class Fixed:
    """`before` and `after` are the first and the last diagnosis. `stopped` says why it ended early."""

    before: Diagnosis
    attempts: tuple[Attempt, ...]
    after: Diagnosis
    seconds: float
    stopped: str = ""

    @property
    def tried(self) -> tuple[Attempt, ...]:
        return tuple(one for one in self.attempts if one.tried)
