"""Two profiles compared, for people and for programs."""

from collections.abc import Iterator, Sequence
from typing import Literal

from pydantic import Field

from gpustack.profile.analysis import Analysis
from gpustack.profile.classes import Id
from gpustack.profile.classify import Confidence
from gpustack.profile.compare import Change, Comparison
from gpustack.profile.compare import Outcome as Compared
from gpustack.profile.gate import Judged
from gpustack.profile.gate import Outcome as Gated
from gpustack.report.codes import COMPARED, comparison_code
from gpustack.report.document import document, ending
from gpustack.report.profile.text import SURE, headline
from gpustack.report.profile.values import percent, shown
from gpustack.report.schema import Document, Seconds, Shape, TextOrNull, take
from gpustack.report.terminal import Terminal

SAME = "no difference that this data can show"


def comparison(console: Terminal, found: Comparison, gates: Sequence[Judged]) -> None:
    for line in lines(found, gates):
        console.print(console.clean(line))


def lines(found: Comparison, gates: Sequence[Judged]) -> Iterator[str]:
    for which, run in (("before", found.before), ("after ", found.after)):
        yield f"{which} {headline(run)}: {judged(run)}"
    yield ""
    yield summary(found)
    yield from (f"  {reason}" for reason in found.refused)
    moved = [change for change in found.changes if change.moved]
    still = [change for change in found.changes if not change.moved]
    for heading, changes in (("beyond its own noise", moved), ("not beyond it", still)):
        if changes:
            yield ""
            yield heading
            yield from map(row, changes)
    yield ""
    differing = [one for one in found.machine if one.differs]
    yield "another machine" if differing else "the same machine, as far as known"
    yield from (f"  {one.what:16} {one.before}, then {one.after}" for one in differing)
    yield from (f"  {note}" for note in found.notes)
    for gate in gates:
        yield f"--fail-if {gate.gate.text}: {gate.outcome}: {gate.why}"


def judged(run: Analysis) -> str:
    return f"{SURE[run.verdict.confidence]} {run.verdict.id}" if run.verdict.confidence != "none" else "no verdict"


def summary(found: Comparison) -> str:
    """The one sentence."""
    if found.outcome == "insufficient-data":
        return "no comparison: too little data"
    if found.outcome == "another-machine":
        return "no winner: the machine was another"
    main = found.find(found.work)
    if main is None:
        return SAME
    amount = f"{found.work}, per GPU-hour: {shown(main.before, main.unit)}, then {shown(main.after, main.unit)}"
    if found.outcome == "same":
        return f"{SAME} in useful work ({amount}; {apart(main)})"
    return f"{found.outcome} useful work: {amount} ({apart(main)}){energy(found)}"


def apart(change: Change) -> str:
    if change.share_noise is None:
        return f"{percent(change.share)}; it drifts, so its noise cannot be told"
    return f"{percent(change.share)}, give or take {percent(change.share_noise, '')}"


def energy(found: Comparison) -> str:
    """Of the same work."""
    power, work = found.find("power"), found.find(found.work)
    if not power or not work or not (power.before and work.before and work.after):
        return ""
    change = (power.after / work.after) / (power.before / work.before) - 1
    return f", for {percent(change)} energy each"


def row(change: Change) -> str:
    values = f"{shown(change.before, change.unit):>11} {shown(change.after, change.unit):>11}"
    noise = percent(change.share_noise, "") or ("unknown" if change.noise is None else "0")
    return f"  {change.name:16} {values} {percent(change.share):>10}  ± {noise}"


class RunShape(Shape):
    """One of the two profiles, with its own verdict."""

    what: str
    label: TextOrNull
    gpus: int
    seconds: Seconds
    samples: int
    verdict: Id
    confidence: Confidence


class ChangeShape(Shape):
    """Means over time and GPUs, in `unit`. `share` is the change of what was before, null where that is 0; `noise` by
    how much it may be off by chance, as such a share, null where that cannot be told. `moved`: beyond its noise."""

    name: str
    unit: str
    before: float
    after: float
    share: float | None
    noise: float | None = take("share_noise")
    moved: bool


class TraitShape(Shape):
    """What GPUs are or are set to; null where it is not known."""

    what: str
    before: TextOrNull
    after: TextOrNull
    differs: bool


class GateShape(Shape):
    """What became of a --fail-if."""

    expression: str = take("gate", "text")
    outcome: Gated
    reason: str = take("why")


class ComparisonDocument(Document):
    """Result of `gpustack profile compare`. `outcome` says whether the second did more or less useful work per
    GPU-hour, by the quantity that `work` names; `refused` why that is not said."""

    kind: Literal["gpustack/comparison/v1"] = Field("gpustack/comparison/v1", alias="schema")
    before: RunShape
    after: RunShape
    outcome: Compared
    work: TextOrNull
    summary: str
    refused: list[str]
    changes: list[ChangeShape]
    machine: list[TraitShape]
    notes: list[str]
    fail_if: list[GateShape]


def text(found: Comparison, gates: Sequence[Judged]) -> str:
    values = {
        **vars(found),
        "exit": ending(comparison_code(found, gates), COMPARED),
        "before": select_run(found.before),
        "after": select_run(found.after),
        "summary": summary(found),
        "fail_if": gates,
    }
    return document(ComparisonDocument, values, None)


def select_run(run: Analysis) -> dict[str, object]:
    first = run.job.windows[0]
    return {
        "what": run.profile.what,
        "label": run.profile.label,
        "gpus": len(run.job.windows),
        "seconds": first.seconds,
        "samples": first.samples,
        "verdict": run.verdict.id,
        "confidence": run.verdict.confidence,
    }
