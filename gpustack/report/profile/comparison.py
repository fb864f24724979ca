"""A comparison of two profiles, for people and for programs."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Literal

from pydantic import Field

from gpustack.profile.analysis import Analysis
from gpustack.profile.class_ids import Id
from gpustack.profile.classify import Confidence
from gpustack.profile.compare import Change, Comparison
from gpustack.profile.compare import Outcome as Compared
from gpustack.profile.gate import GateResult, select_exit_status
from gpustack.profile.gate import Outcome as Gated
from gpustack.report.document import render_result
from gpustack.report.hanging import Row, print_rows
from gpustack.report.profile.text import format_headline
from gpustack.report.profile.text import format_verdict as format_verdict_of
from gpustack.report.profile.values import format_percent, label_quantity
from gpustack.report.renderings import COMPARISON
from gpustack.report.schema import Document, Seconds, Shape, TextOrNull, take
from gpustack.report.terminal import Terminal
from gpustack.vocabulary.amounts import format_value

ROW_WIDTH = 68
"""Columns of the widest row of a change."""
SAME_TEXT = "no difference that this data can show"


def render_human(console: Terminal, comparison: Comparison, gates: Sequence[GateResult]) -> None:
    print_rows(console, list_rows(comparison, gates, is_narrow=console.width < ROW_WIDTH))


def list_rows(comparison: Comparison, gates: Sequence[GateResult], *, is_narrow: bool) -> Iterator[Row]:
    for label, run in (("before", comparison.before), ("after ", comparison.after)):
        yield Row(f"{format_headline(run)}: {format_verdict(run)}", f"{label} ")
    yield Row()
    yield Row(format_summary(comparison))
    yield from (Row(reason, "  ") for reason in comparison.refusals)
    moved_changes = [change for change in comparison.changes if change.moved]
    unmoved_changes = [change for change in comparison.changes if not change.moved and change.noise is not None]
    open_changes = [change for change in comparison.changes if not change.moved and change.noise is None]
    sections = {"outside noise": moved_changes, "within noise": unmoved_changes, "noise unknown": open_changes}
    for heading, changes in sections.items():
        if changes:
            yield Row()
            yield Row(heading)
            yield from chain.from_iterable(build_rows(change, is_narrow=is_narrow) for change in changes)
    yield Row()
    differing = [trait for trait in comparison.machine if trait.differs]
    yield Row("other hosts or GPUs" if differing else "the same hosts and GPUs, as far as known")
    yield from (Row(f"{trait.before}, then {trait.after}", f"  {trait.name:16} ") for trait in differing)
    yield from (Row(note, "  ") for note in comparison.notes)
    yield from (Row(f"{gate.outcome}: {gate.reason}", f"gate {gate.gate.text}: ") for gate in gates)


def format_verdict(run: Analysis) -> str:
    return format_verdict_of(run.verdict)


def format_summary(comparison: Comparison) -> str:
    """Format the result of a comparison as one sentence."""
    if comparison.outcome == "insufficient-data":
        return "no comparison: too little data"
    if comparison.outcome == "another-machine":
        return "no winner: hosts or GPUs differ"
    work_change = comparison.find_change(comparison.work)
    if work_change is None:
        return SAME_TEXT
    before, after = (format_value(value, work_change.unit) for value in (work_change.before, work_change.after))
    amount = f"{label_quantity(comparison.work)} from {before} to {after} ({format_change(work_change)})"
    if comparison.outcome == "same":
        return f"{SAME_TEXT} in useful work per GPU-hour: {amount}"
    verb = "rose" if comparison.outcome == "more" else "fell"
    return f"useful work per GPU-hour {verb}: {amount}{describe_energy(comparison)}"


def format_change(change: Change) -> str:
    if change.share_noise is None:
        return f"{format_percent(change.share)}; it drifts, so its noise is unknown"
    return f"{format_percent(change.share)} ± {format_percent(change.share_noise, '')}"


def describe_energy(comparison: Comparison) -> str:
    """Describe the change of the energy for the same work. The text is empty where power or work is unknown."""
    power, work = comparison.find_change("power"), comparison.find_change(comparison.work)
    if not power or not work or not (power.before and work.before and work.after):
        return ""
    change = (power.after / work.after) / (power.before / work.before) - 1
    return f"; energy per unit of work {'rose' if change > 0 else 'fell'} by {format_percent(abs(change), '')}"


def build_rows(change: Change, *, is_narrow: bool) -> Iterator[Row]:
    """Build the row of a change, or where it does not fit, a row of its values above one of their difference."""
    before, after = (format_value(value, change.unit) for value in (change.before, change.after))
    noise = format_percent(change.share_noise, "") or ("unknown" if change.noise is None else "0")
    share, heading = format_percent(change.share), f"  {label_quantity(change.name):16} "
    if is_narrow:
        yield Row(f"{before} to {after}", heading)
        yield Row(f"{share} ± {noise}".lstrip(), " " * len(heading))
    else:
        yield Row(f"{before:>11} {after:>11} {share:>10}  ± {noise}", heading)


class RunShape(Shape):
    """Describe one of the two profiles, with its own verdict."""

    subject: TextOrNull
    label: TextOrNull
    gpu_count: int
    seconds: Seconds
    sample_count: int
    verdict: Id
    confidence: Confidence


class ChangeShape(Shape):
    """Describe a change of a mean over time and GPUs."""

    name: str
    unit: TextOrNull
    before: float
    after: float
    relative_change: float | None = take("share")
    noise: float | None = take("share_noise")
    moved: bool


class TraitShape(Shape):
    """Describe a property or a setting of the GPUs."""

    name: str
    former_setting: TextOrNull = take("before")
    current_setting: TextOrNull = take("after")
    differs: bool


class GateShape(Shape):
    """Describe the result of a gate."""

    expression: str = take("gate", "text")
    outcome: Gated
    reason: TextOrNull


class ComparisonDocument(Document):
    """Describe the result of `gpustack profile compare`. `outcome` says whether the second profile did more or less
    useful work per GPU-hour; `reasons` say why no winner is named."""

    kind: Literal["gpustack/comparison/v1"] = Field("gpustack/comparison/v1", alias="schema")
    before_run: RunShape
    after_run: RunShape
    outcome: Compared
    work_quantity: TextOrNull = take("work")
    summary: str
    reasons: list[str] = take("refusals")
    changes: list[ChangeShape]
    machine: list[TraitShape]
    notes: list[str]
    fail_if: list[GateShape]


def render_json(comparison: Comparison, gates: Sequence[GateResult]) -> str:
    return render_result(
        COMPARISON,
        ComparisonDocument,
        comparison,
        exit=COMPARISON.build_exit(select_exit_status(comparison, gates)),
        before_run=select_run(comparison.before),
        after_run=select_run(comparison.after),
        summary=format_summary(comparison),
        fail_if=gates,
    )


def select_run(run: Analysis) -> dict[str, object]:
    first = run.job.windows[0]
    return {
        "subject": run.profile.subject,
        "label": run.profile.label,
        "gpu_count": len(run.job.windows),
        "seconds": first.seconds,
        "sample_count": first.samples,
        "verdict": run.verdict.id,
        "confidence": run.verdict.confidence,
    }
