"""What a fix comes to. All of it is values; report writes them down."""

from dataclasses import dataclass
from typing import Literal

from gpustack.doctor.finding import Diagnosis
from gpustack.remedy.copies import Kept
from gpustack.remedy.offer import Offer
from gpustack.rollout.plan import Played

Ending = Literal["fixed", "recovered", "not-turned", "interrupted", "declined", "not-for-a-machine"]


@dataclass(frozen=True)
class Attempt:
    """One root. `kept` is what was changed, by host; `undone` what was put back as it did not turn; `why` says more
    of how it ended; `lingers` are consequences that still showed when waiting for them ended."""

    offer: Offer
    ending: Ending
    played: Played | None = None
    kept: tuple[Kept, ...] = ()
    undone: tuple[str, ...] = ()
    why: str = ""
    lingers: tuple[str, ...] = ()
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
