"""The result of `gpustack remediate`: what became of the next rung, and which command comes next."""

from dataclasses import dataclass
from typing import Literal

from gpustack.command import NO_HINT, Hint
from gpustack.events import INTERRUPTION
from gpustack.exit_status import ExitStatus, select_status
from gpustack.remediation.ladder import Ladder
from gpustack.rollout.next_command import build_command

Outcome = Literal["none", "done", "failed"]


@dataclass(frozen=True)
class RemediationResult:
    """Hold the result. `outcome` is that of the next rung of `ladder`, `none` where it was not taken. `only_checked`
    tells that nothing was changed because nobody asked for it."""

    ladder: Ladder
    outcome: Outcome = "none"
    reason: str = ""
    seconds: float = 0.0
    only_checked: bool = False
    stop_reason: str = ""

    @property
    def exit_status(self) -> ExitStatus:
        return select_status(
            interrupted=self.stop_reason == INTERRUPTION,
            failed=self.outcome == "failed" or self.stop_reason,
            differs=self.only_checked and (self.ladder.refusals or self.ladder.refused_pods),
            unknown=self.ladder.case.verdict == "unknown",
        )

    @property
    def next_command(self) -> Hint:
        """Return the command of what comes next: the same one after an act, since the case is read anew."""
        case, rung = self.ladder.case, self.ladder.next_rung
        if self.outcome != "none":
            return build_command(case.inventory, "remediate", case.target.label)
        if rung is None:
            return build_command(case.inventory, "doctor") if case.verdict == "unknown" else NO_HINT
        return rung.command
