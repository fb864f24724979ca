"""Classification: the first class whose conditions all hold, and its confidence.

A class that looks alike is excluded by a measured value or stays open; a value that was not measured excludes nothing.
Confidence is high without a doubt, medium with one, low with more: an open class, a value close to its threshold, few
samples. Classes that are open for want of the same measurement are one doubt.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpustack.profile.class_ids import Id
from gpustack.profile.classes import CLASSES, Class
from gpustack.profile.condition import CLEAR, CLOSE, Condition
from gpustack.profile.gaps import MORE_DATA, describe_contradiction, find_missing_data
from gpustack.profile.limits import DEFAULT, Limits
from gpustack.profile.notes import list_notes
from gpustack.profile.peers import list_unused, name_gpus
from gpustack.profile.signals import Signals, compute_signals
from gpustack.profile.window import Job

Confidence = Literal["high", "medium", "low", "none"]
CONFIDENCE_BY_DOUBTS: tuple[Confidence, ...] = ("high", "medium", "low")
CLOSER_LOOK = "a profile of a few steps (PyTorch profiler, Nsight Systems)"
NO_CLASS = "A later profile has a class."


@dataclass(frozen=True)
class Verdict:
    """Hold a verdict. `reasons` are the conditions of the class with numbers, `support` is evidence beside them,
    `objections` make it doubtful. `ruled_out` has the value that excludes each class that looks alike, `alternatives`
    those that stay open, with what would tell. `notes` are findings beside the class. `advice` is empty for a low
    verdict. `success_criterion` is the change that a later profile shows if the advice helped. `second` is a class
    whose conditions hold too: the work below an overlay, or the next best. `signals` are the raw numbers."""

    id: Id
    title: str
    confidence: Confidence
    reasons: tuple[str, ...]
    advice: tuple[str, ...]
    notes: tuple[str, ...]
    signals: Signals
    ruled_out: tuple[tuple[Id, str], ...] = ()
    alternatives: tuple[tuple[Id, str], ...] = ()
    success_criterion: str = NO_CLASS
    support: tuple[str, ...] = ()
    objections: tuple[str, ...] = ()
    second: Id | None = None
    is_overlay: bool = False


@dataclass(frozen=True)
class Neighbour:
    """Hold a class that looks alike, with the condition that excludes it or leaves it open. `doubts` are what would
    have to be measured; those that an open class would have for itself are among them."""

    id: Id
    condition: Condition
    is_open: bool
    doubts: frozenset[str] = frozenset()

    @property
    def reason(self) -> str:
        return self.condition.refutation if self.is_open or self.condition.fails else str(self.condition)


def classify(job: Job, limits: Limits = DEFAULT, *, phases: int = 1) -> Verdict:
    """Classify a job. `phases` is the number of stretches of different classes that analyze finds."""
    signals = compute_signals(job, limits)
    if missing := tuple(find_missing_data(job, signals, limits)):
        title, notes = "There is too little data for a verdict.", list_notes("insufficient-data", signals, limits)
        return Verdict("insufficient-data", title, "none", missing, MORE_DATA, tuple(notes), signals)
    if conflict := describe_contradiction(job):
        notes = list_notes("not-measured", signals, limits)
        return Verdict("not-measured", conflict.title, "none", conflict.reasons, conflict.advice, tuple(notes), signals)
    if rest_verdict := judge_rest(job, limits):
        return rest_verdict
    neighbours: list[Neighbour] = []
    for number, candidate in enumerate(CLASSES):
        conditions = tuple(candidate.conditions(signals, limits))
        if all(condition.holds for condition in conditions):
            work_signals = compute_signals(list_working(job, limits), limits) if candidate.is_overlay else signals
            second = find_next_best(CLASSES[number + 1 :], work_signals, limits)
            mixed = phases > 1 or any(window.is_shared for window in job.windows)
            return build_verdict(candidate, conditions, signals, limits, neighbours, is_mixed=mixed, second=second)
        neighbours.append(judge_neighbour(candidate, conditions, signals, limits))
    title = "Nothing stands out: no part of the GPU is at its limit, and none is without work."
    verdict = Verdict("mixed", title, "low", (), (), tuple(list_notes("mixed", signals, limits)), signals)
    return replace(verdict, ruled_out=list_excluded(neighbours), alternatives=list_open(neighbours))


def list_working(job: Job, limits: Limits) -> Job:
    """List the GPUs of a job that are not unused; all where all are."""
    unused_windows = list_unused(job, limits)
    if len(unused_windows) == len(job.windows):
        return job
    return replace(job, windows=tuple(window for window in job.windows if window not in unused_windows))


def judge_rest(job: Job, limits: Limits) -> Verdict | None:
    """Judge the GPUs that are not unused, where these wait: for the ones that are, whose ranks have ended."""
    working, unused_windows = list_working(job, limits), list_unused(job, limits)
    if not unused_windows or len(unused_windows) == len(job.windows):
        return None
    verdict = classify(working, limits)
    if verdict.id != "waiting":
        return None
    verb, pronoun = ("does", "it") if len(unused_windows) == 1 else ("do", "them")
    note = f"{name_gpus(job, unused_windows)} of the job {verb} nothing: the others may wait for {pronoun}."
    return replace(verdict, notes=(note, *verdict.notes))


def judge_neighbour(candidate: Class, conditions: Sequence[Condition], signals: Signals, limits: Limits) -> Neighbour:
    """Judge a class whose conditions do not all hold: a measured value excludes it, or it stays open."""
    failed_conditions = sorted(
        (condition for condition in conditions if condition.fails), key=lambda condition: condition.margin
    )
    if failed_conditions and failed_conditions[0].margin <= -CLOSE:
        return Neighbour(candidate.id, failed_conditions[0], is_open=False)
    refutations = [condition for condition in candidate.refutations(signals, limits) if condition.holds]
    if refutations:
        return Neighbour(candidate.id, refutations[0], is_open=False)
    unknown_conditions = [condition for condition in conditions if condition.value is None]
    deciding_condition = (failed_conditions or unknown_conditions)[0]
    unmet_conditions = [
        condition for condition in candidate.exclusions(signals, limits).values() if not condition.holds
    ]
    doubts = frozenset(map(name_doubt, (deciding_condition, *unmet_conditions)))
    return Neighbour(candidate.id, deciding_condition, is_open=True, doubts=doubts)


def build_verdict(
    candidate: Class,
    conditions: Sequence[Condition],
    signals: Signals,
    limits: Limits,
    neighbours: list[Neighbour],
    *,
    is_mixed: bool,
    second: Id | None,
) -> Verdict:
    """Build the verdict of a class that holds. With `is_mixed` the values are of several kinds of work, so the verdict
    is low."""
    by_id = {neighbour.id: neighbour for neighbour in neighbours}
    for id, condition in candidate.exclusions(signals, limits).items():
        unmet = frozenset(() if condition.holds else (name_doubt(condition),))
        by_id[id] = Neighbour(id, condition, is_open=bool(unmet), doubts=unmet)
    objections = [condition for condition in candidate.objections(signals, limits) if condition.holds]
    margin = min(condition.margin for condition in conditions)
    doubts = len(frozenset().union(*(neighbour.doubts for neighbour in by_id.values())))
    doubts += 2 * (bool(objections) + is_mixed)
    doubts += 2 * (margin < CLOSE or signals.samples < limits.normal_samples)
    doubts += margin < CLEAR or signals.samples < limits.many_samples
    confidence = CONFIDENCE_BY_DOUBTS[min(doubts, 2)]
    has_second = candidate.is_overlay or (confidence != "high" and second not in by_id)
    support = [condition for condition in candidate.support(signals, limits) if condition.holds]
    return Verdict(
        candidate.id,
        candidate.build_title(signals),
        confidence,
        tuple(map(str, conditions)),
        () if confidence == "low" else candidate.advice,
        tuple(list_notes(candidate.id, signals, limits)),
        signals,
        list_excluded(by_id.values()),
        list_open(by_id.values()),
        candidate.success_criterion if confidence != "low" else NO_CLASS,
        tuple(map(str, support)),
        tuple(map(str, objections)),
        second if has_second else None,
        candidate.is_overlay,
    )


def name_doubt(condition: Condition) -> str:
    """Name what would have to be measured: several open classes may lack the same."""
    return condition.source or condition.quantity


def list_excluded(neighbours: Iterable[Neighbour]) -> tuple[tuple[Id, str], ...]:
    return tuple((neighbour.id, neighbour.reason) for neighbour in neighbours if not neighbour.is_open)


def list_open(neighbours: Iterable[Neighbour]) -> tuple[tuple[Id, str], ...]:
    return tuple((neighbour.id, neighbour.reason) for neighbour in neighbours if neighbour.is_open)


def find_next_best(candidates: Sequence[Class], signals: Signals, limits: Limits) -> Id | None:
    for candidate in candidates:
        if all(condition.holds for condition in candidate.conditions(signals, limits)):
            return candidate.id
    return None
