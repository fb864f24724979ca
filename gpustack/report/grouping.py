"""Findings by text: one line for a finding and all its locations, in the order of the steps and checks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import Evidence
from gpustack.command import NO_HINT, Hint
from gpustack.report.format import MISSING_PREFIX
from gpustack.rollout.plan import Plan, StepState

Kind = Literal["differs", "upgrade", "manual", "unknown", "pending", "note", "ok"]


@dataclass(frozen=True)
class Line:
    """Hold one line of a report. `evidence` is that of the first location."""

    step: str
    kind: Kind
    text: str
    locations: tuple[str, ...]
    hint: Hint = NO_HINT
    evidence: tuple[Evidence, ...] = ()


def list_lines(plan: Plan, *, holding: bool) -> list[Line]:
    """List the lines of what differs and what is unknown, and with `holding` of what is ok. Hosts that were not
    reached are left out: everything about them is unknown, for the one reason in `Plan.snapshot.reach`."""
    lines_by_key: dict[tuple[str, str, str, Hint], Line] = {}
    for state in plan.states:
        if state.location in plan.unreachable_hosts:
            continue
        for line in list_state_lines(state, holding=holding):
            key = (line.step, line.kind, line.text, line.hint)
            before = lines_by_key.get(key, line)
            locations = tuple(dict.fromkeys((*before.locations, *line.locations)))
            lines_by_key[key] = Line(line.step, line.kind, line.text, locations, line.hint, before.evidence)
    return sorted(lines_by_key.values(), key=lambda line: [state.step for state in plan.states].index(line.step))


def list_state_lines(state: StepState, *, holding: bool) -> Iterator[Line]:
    if state.outcome == "pending":
        yield Line(state.step, "pending", f"waits for {state.after}", (state.location,))
        return
    differing = [
        candidate
        for candidate in state.judgements
        if holding or (candidate.outcome != "ok" and not is_newer(candidate))
    ]
    selected_judgements = differing if holding or not state.after else select_foremost(differing)
    yield from (build_line(state, judgement) for judgement in selected_judgements)
    if remaining_count := len(differing) - len(selected_judgements):
        yield Line(state.step, "pending", f"{remaining_count} more, checked after {state.after}", (state.location,))


def is_newer(judgement: Judgement) -> bool:
    """Tell whether a check is newer than the recording, which then has no answer for it."""
    return judgement.outcome == "unknown" and judgement.reason.startswith(MISSING_PREFIX)


def select_foremost(differing: list[Judgement]) -> list[Judgement]:
    """Select the first difference that install fixes, and all that it does not fix. Behind a drifted step the other
    differences are consequences of the first."""
    fixable = [judgement for judgement in differing if judgement.result and judgement.result.cure == "install"]
    first_fixable = fixable[:1]
    return [
        candidate
        for candidate in differing
        if candidate in first_fixable or (candidate.result and candidate.result.cure != "install")
    ]


def build_line(state: StepState, judgement: Judgement) -> Line:
    kind, text = "ok", judgement.id
    hint: Hint = NO_HINT
    mismatch = judgement.result
    if mismatch and mismatch.ok:
        kind, text = "note", str(mismatch)
    elif mismatch:
        kind = {"install": "differs", "upgrade": "upgrade", "operator": "manual"}[mismatch.cure]
        # What install fixes needs no advice.
        text, hint = str(mismatch), NO_HINT if mismatch.cure == "install" else mismatch.hint
    elif judgement.outcome == "unknown":
        kind, text = "unknown", f"{judgement.id}: {judgement.reason}"
    return Line(state.step, kind, text, (state.location,), hint, judgement.evidence)  # type: ignore[arg-type]
