"""Results of a fix, as plain values. The report formats them."""

from dataclasses import dataclass
from typing import Literal

from gpustack.doctor.finding import Diagnosis
from gpustack.events import INTERRUPTION
from gpustack.exit_status import ExitStatus, select_status
from gpustack.remedy.offer import Offer
from gpustack.remedy.records import HostRecord
from gpustack.remedy.undo import Remainder, Rollback
from gpustack.rollout.plan import PlaybookRun

Ending = Literal["fixed", "recovered", "not-resolved", "interrupted", "declined", "manual"]


@dataclass(frozen=True)
class Attempt:
    """Hold the fix of one root cause. `records` are its changes by host; `rollback` is None where nothing was rolled
    back; `reason` explains the ending; `remaining` are symptoms that were still there when the waiting ended."""

    offer: Offer
    ending: Ending
    play_result: PlaybookRun | None = None
    records: tuple[HostRecord, ...] = ()
    rollback: Rollback | None = None
    reason: str = ""
    remaining: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def tried(self) -> bool:
        return self.play_result is not None

    @property
    def rollback_actions(self) -> tuple[str, ...]:
        return self.rollback.actions if self.rollback else ()

    @property
    def remainders(self) -> tuple[Remainder, ...]:
        return self.rollback.remainders if self.rollback else ()

    @property
    def is_undoable(self) -> bool:
        """Tell whether hosts have changes of this fix that `--undo` can roll back."""
        return self.tried and self.rollback is None


@dataclass(frozen=True)
class FixResult:
    """Hold the attempts between the first and the last diagnosis. `stop_reason` says why the fix ended early."""

    before: Diagnosis
    attempts: tuple[Attempt, ...]
    after: Diagnosis
    seconds: float
    stop_reason: str = ""

    @property
    def tried_attempts(self) -> tuple[Attempt, ...]:
        return tuple(attempt for attempt in self.attempts if attempt.tried)

    @property
    def exit_status(self) -> ExitStatus:
        """Return the status of the attempts and of the diagnosis after them."""
        endings = {attempt.ending for attempt in self.attempts}
        failed = any(attempt.play_result.failures for attempt in self.attempts if attempt.play_result)
        return select_status(
            **{self.after.exit_status.name: True},
            interrupted=self.stop_reason == INTERRUPTION or "interrupted" in endings,
            failed=failed or (self.stop_reason and "not-resolved" not in endings),
            incomplete="not-resolved" in endings,
        )
