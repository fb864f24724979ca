"""One line for one finding, with all the places where it is so; the order of the steps and checks is kept."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gpustack.ask.judge import Judgement
from gpustack.ask.view import Evidence
from gpustack.command import NO_HINT, Hint
from gpustack.report.format import NOT_ASKED
from gpustack.rollout.plan import Plan, StepState

Kind = Literal["differs", "upgrade", "manual", "unknown", "pending", "ok"]


@dataclass(frozen=True)
class Line:
    """`evidence` is that of the first place."""

    step: str
    kind: Kind
    text: str
    locations: tuple[str, ...]
    hint: Hint = NO_HINT
    evidence: tuple[Evidence, ...] = ()


def lines(found: Plan, *, holding: bool) -> list[Line]:
    """What differs and what is unknown, and with `holding` what holds. Hosts that were not reached are left out:
    all of theirs is unknown for the one reason that stands in `Plan.snapshot.reach`."""
    folded: dict[tuple[str, str, str, Hint], Line] = {}
    for state in found.states:
        if state.where in found.unreached:
            continue
        for line in of_state(state, holding=holding):
            key = (line.step, line.kind, line.text, line.hint)
            before = folded.get(key, line)
            locations = tuple(dict.fromkeys((*before.locations, *line.locations)))
            folded[key] = Line(line.step, line.kind, line.text, locations, line.hint, before.evidence)
    return sorted(folded.values(), key=lambda line: [state.step for state in found.states].index(line.step))


def of_state(state: StepState, *, holding: bool) -> Iterator[Line]:
    if state.outcome == "pending":
        yield Line(state.step, "pending", f"waits for {state.after}", (state.where,))
        return
    differing = [one for one in state.judgements if holding or (one.outcome != "ok" and not newer(one))]
    shown = differing if holding or not state.after else foremost(differing)
    yield from (of_judgement(state, judgement) for judgement in shown)
    if rest := len(differing) - len(shown):
        yield Line(state.step, "pending", f"{rest} more, checked after {state.after}", (state.where,))


def newer(judgement: Judgement) -> bool:
    """Than the recording: it has no answer for this check."""
    return judgement.outcome == "unknown" and judgement.why.startswith(NOT_ASKED)


def foremost(differing: list[Judgement]) -> list[Judgement]:
    """Behind a drifted step most of what differs is its consequence: the first difference stands for them. What install
    will not fix is always shown."""
    fixable = [judgement for judgement in differing if judgement.result and judgement.result.cure == "install"]
    kept = fixable[:1]
    return [one for one in differing if one in kept or (one.result and one.result.cure != "install")]


def of_judgement(state: StepState, judgement: Judgement) -> Line:
    kind, text = "ok", judgement.id
    hint: Hint = NO_HINT
    if mismatch := judgement.result:
        kind = {"install": "differs", "upgrade": "upgrade", "operator": "manual"}[mismatch.cure]
        # What install fixes needs no advice.
        text, hint = str(mismatch), NO_HINT if mismatch.cure == "install" else mismatch.hint
    elif judgement.outcome == "unknown":
        kind, text = "unknown", f"{judgement.id}: {judgement.why}"
    return Line(state.step, kind, text, (state.where,), hint, judgement.evidence)  # type: ignore[arg-type]
