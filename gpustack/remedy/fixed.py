"""What a fix comes to. All of it is values; report writes them down."""

from dataclasses import dataclass
from typing import Literal

from gpustack.doctor.finding import Diagnosis
from gpustack.remedy.copies import Kept
from gpustack.remedy.offer import Offer
from gpustack.rollout.plan import Played

Ending = Literal["fixed", "recovered", "not-resolved", "interrupted", "declined", "manual"]


@dataclass(frozen=True)
class Attempt:
    """One root. `kept` is what was changed, by host; `undone` what was rolled back as it did not help; `why` says more
    of how it ended; `remaining` are symptoms that were still there when waiting for them ended."""

    offer: Offer
    ending: Ending
    played: Played | None = None
    kept: tuple[Kept, ...] = ()
    undone: tuple[str, ...] = ()
    why: str = ""
    remaining: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def tried(self) -> bool:
        return self.played is not None


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
