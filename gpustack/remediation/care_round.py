"""Run a round of `gpustack care`: each node whose verdict asks for an act is cordoned, or named with what stands
against it. Nothing else is done to a node."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from gpustack.errors import GpustackError, LockedError, RolloutError
from gpustack.exit_status import ExitStatus, select_status
from gpustack.health.fleet import Health
from gpustack.remediation.case import Case
from gpustack.remediation.guards import explain_clocks
from gpustack.remediation.ladder import Ladder, build_ladder
from gpustack.remediation.remediation import Remediation
from gpustack.remediation.result import Outcome
from gpustack.remediation.rungs import RUNGS_BY_VERDICT, ActId

CORDON: ActId = "cordon"


@dataclass(frozen=True)
class CareEntry:
    """Hold what became of a node that asks for an act. `outcome` is that of its cordon, and `none` where it was not
    tried: then `reason` says why. Of a node that could not be read there is no ladder."""

    node: str
    ladder: Ladder | None
    outcome: Outcome = "none"
    reason: str = ""


@dataclass(frozen=True)
class CareRound:
    """Hold the nodes that ask for an act, and those whose verdict is unknown. `only_checked` tells that nothing was
    changed because nobody asked for it. `doubts` are sentences about what was left out, and `clock_reason` says that
    no verdict is certainly of now."""

    entries: tuple[CareEntry, ...]
    unknown_nodes: tuple[str, ...]
    only_checked: bool
    doubts: tuple[str, ...] = ()
    clock_reason: str = ""

    @property
    def warnings(self) -> tuple[str, ...]:
        clocks = (f"No verdict is certain: {self.clock_reason}.",) if self.clock_reason else ()
        return (*clocks, *self.doubts)

    @property
    def exit_status(self) -> ExitStatus:
        return select_status(
            failed=any(entry.outcome == "failed" for entry in self.entries),
            differs=self.entries,
            unknown=self.unknown_nodes or self.clock_reason,
        )


def list_due_nodes(health: Health) -> tuple[str, ...]:
    """List the nodes whose worst verdict asks for an act on the node."""
    return tuple(sorted({entry.node for entry in health.nodes if entry.verdict in RUNGS_BY_VERDICT}))


def run_care_round(
    health: Health,
    read: Callable[[str], Case],
    build_remediation: Callable[[str, Ladder], Remediation],
    *,
    only_checked: bool,
) -> CareRound:
    """Cordon the nodes that ask for an act, one after the other: each case is read after the cordon before it, so that
    the guard rails count that one. With `only_checked` nothing is changed."""
    unknown_nodes = sorted({entry.node for entry in health.nodes if entry.verdict == "unknown"})

    def list_entries() -> Iterator[CareEntry]:
        for node in list_due_nodes(health):
            try:
                ladder = build_ladder(read(node))
            except GpustackError as error:
                yield CareEntry(node, None, "failed", f"{error.message} {error.reason}".strip())
                continue
            reason = explain_no_cordon(ladder)
            if reason or only_checked:
                yield CareEntry(node, ladder, reason=reason)
            else:
                yield take_cordon(node, ladder, build_remediation(node, ladder))

    clock_reason = explain_clocks(datetime.now(UTC), health.time)
    return CareRound(tuple(list_entries()), tuple(unknown_nodes), only_checked, health.doubts, clock_reason)


def explain_no_cordon(ladder: Ladder) -> str:
    """Explain why the node is not to be cordoned; empty where it is."""
    if ladder.next_act != CORDON:
        next_rung = ladder.next_rung.id if ladder.next_rung else "none"
        return f"it is cordoned; the next rung is {next_rung}" if ladder.case.node.cordoned else f"rung: {next_rung}"
    return "; ".join(f"{refusal.guard}: {refusal.reason}" for refusal in ladder.refusals)


def take_cordon(node: str, ladder: Ladder, remediation: Remediation) -> CareEntry:
    """Cordon a node. Where it has changed since it was read, a guard rail refuses now, or somebody else changes the
    cluster, nothing was changed."""
    try:
        result = remediation.run(ladder, CORDON)
    except (RolloutError, LockedError) as error:
        return CareEntry(node, ladder, "none", f"{error.message} {error.reason}".strip())
    return CareEntry(node, result.ladder, result.outcome, result.reason or result.stop_reason)
