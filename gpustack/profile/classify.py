"""Classification: the first class whose conditions all hold, with its confidence and the objections to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gpustack.profile.classes import CLASSES, Class, Condition, Id
from gpustack.profile.limits import DEFAULT, Limits
from gpustack.profile.signals import Signals, compute_signals
from gpustack.profile.window import Job

Confidence = Literal["high", "medium", "low", "none"]
CLEAR, CLOSE = 0.20, 0.05  # beyond a threshold, as a share of it
MORE_DATA = ("Measure longer, or at a finer interval.", "gpustack gpu check-exporter says what an exporter sends.")
CLOSER_LOOK = ("Profile a few steps (PyTorch profiler, Nsight Systems).",)
NO_CLASS = "A later profile has a class."


@dataclass(frozen=True)
class Verdict:
    """Hold a verdict. `reasons` are the conditions of the class with numbers; `support` and `objections` make it more
    or less sure; `ruled_out` has the failed condition of each class before it. `notes` are overlays: findings beside
    the class. `success_criterion` is the change that a later profile shows if the advice helped. `second` is a class
    that is almost as near. `signals` are the raw
    numbers."""

    id: Id
    title: str
    confidence: Confidence
    reasons: tuple[str, ...]
    advice: tuple[str, ...]
    notes: tuple[str, ...]
    signals: Signals
    ruled_out: tuple[tuple[Id, str], ...] = ()
    success_criterion: str = NO_CLASS
    support: tuple[str, ...] = ()
    objections: tuple[str, ...] = ()
    second: Id | None = None


def classify(job: Job, limits: Limits = DEFAULT, *, phases: int = 1) -> Verdict:
    """Classify a job. `phases` is the number of different stretches that analyze finds."""
    signals = compute_signals(job, limits)
    if missing := tuple(find_missing_data(job, signals, limits)):
        title, overlays = "There is too little data for a verdict.", list_overlays("insufficient-data", signals, limits)
        return Verdict("insufficient-data", title, "none", missing, MORE_DATA, tuple(overlays), signals)
    ruled_out: list[tuple[Id, str]] = []
    unmeasured: list[Id] = []
    for number, candidate in enumerate(CLASSES):
        conditions = tuple(candidate.conditions(signals, limits))
        broken = [condition for condition in conditions if not condition.holds]
        if broken and all(condition.value is None for condition in broken):
            unmeasured.append(candidate.id)
        if not broken:
            second = find_next_best(CLASSES[number + 1 :], signals, limits)
            return build_verdict(
                candidate,
                conditions,
                signals,
                limits,
                ruled_out=tuple(ruled_out),
                unmeasured_ids=tuple(unmeasured),
                phases=phases,
                second=second,
            )
        ruled_out.append((candidate.id, min(broken, key=lambda condition: condition.margin).refutation))
    title = "Nothing stands out: no part of the GPU is at its limit, and none is without work."
    overlays = list_overlays("mixed", signals, limits)
    return Verdict("mixed", title, "low", (), CLOSER_LOOK, tuple(overlays), signals, tuple(ruled_out))


def find_missing_data(job: Job, signals: Signals, limits: Limits) -> Iterator[str]:
    """Find the reasons why there can be no verdict."""
    if unsent := sorted({name for window in job.windows for name in window.lacking}):
        yield f"The exporter does not send: {', '.join(unsent)}."
    if signals.samples < limits.least_samples:
        needed, rate = limits.least_samples, f"one in {signals.interval:.3g} s"
        time = needed * signals.interval
        yield f"There are {signals.samples} distinct samples, {rate}: {needed:g} take {time:.0f} s."
    if signals.gaps > limits.most_gaps:
        yield f"{signals.gaps:.0%} of the time has no samples."
    pods = sorted({pod for window in job.windows if len(window.pods) > 1 for pod in window.pods})
    if pods:
        yield f"GPUs changed hands within the time: {', '.join(pods)}."
    elif len({window.pods for window in job.windows}) > 1:
        several = sorted({pod for window in job.windows for pod in window.pods})
        yield f"The GPUs are no one workload's, but of {', '.join(several)}, or free: choose those of one."


def build_verdict(
    candidate: Class,
    conditions: Sequence[Condition],
    signals: Signals,
    limits: Limits,
    *,
    ruled_out: tuple[tuple[Id, str], ...],
    unmeasured_ids: tuple[Id, ...],
    phases: int,
    second: Id | None,
) -> Verdict:
    support = [condition for condition in candidate.support(signals, limits) if condition.holds]
    against = [condition for condition in candidate.objections(signals, limits) if condition.holds]
    margin = min(condition.margin for condition in conditions)
    short = candidate.id == "idle" and signals.seconds < limits.idle_seconds
    backed = bool(support) or not tuple(candidate.support(signals, limits))
    doubtful = bool(against or unmeasured_ids) or phases > 1 or margin < CLOSE or short
    enough = max(candidate.samples, limits.normal_samples)
    sure = judge_confidence(signals.samples, enough, limits.many_samples, margin, backed=backed, doubtful=doubtful)
    notes = [f"What {id} needs was not measured: it may be that." for id in unmeasured_ids]
    return Verdict(
        candidate.id,
        candidate.title,
        sure,
        tuple(map(str, conditions)),
        candidate.advice,
        (*notes, *list_overlays(candidate.id, signals, limits)),
        signals,
        ruled_out,
        candidate.success_criterion,
        tuple(map(str, support)),
        tuple(map(str, against)),
        second if margin < CLEAR else None,
    )


def judge_confidence(
    samples: int, enough_samples: float, many: float, margin: float, *, backed: bool, doubtful: bool
) -> Confidence:
    if samples < enough_samples or doubtful:
        return "low"
    return "high" if samples >= many and margin >= CLEAR and backed else "medium"


def find_next_best(candidates: Sequence[Class], signals: Signals, limits: Limits) -> Id | None:
    for candidate in candidates:
        if all(condition.holds for condition in candidate.conditions(signals, limits)):
            return candidate.id
    return None


def list_overlays(id: Id, signals: Signals, limits: Limits) -> Iterator[str]:
    """List findings beside the class."""
    if signals.power_cap > limits.power_cap and (signals.power or 0) > limits.power_near_limit:
        yield f"The power limit holds the clocks down for {signals.power_cap:.0%} of the time: usual at full load."
    if id != "throttled" and signals.heat_slowdown > limits.heat_slowdown:
        yield f"Heat slows the GPUs down for {signals.heat_slowdown:.0%} of the time."
    if id == "insufficient-data" and signals.hardware_slowdown > limits.hardware_slowdown:
        yield f"Hardware slows the GPUs down for {signals.hardware_slowdown:.0%} of the time."
    if id == "insufficient-data" and signals.sm is None and signals.utilisation is not None:
        yield f"Some kernel ran for {signals.utilisation:.0%} of the time: without profiling fields that is all."
    if id == "idle" and signals.seconds < limits.idle_seconds:
        yield f"Only {signals.seconds:.0f} s were measured: it may be a pause."
    if id == "idle" and (signals.memory or 0) > limits.idle_engine:
        yield "Memory is in use: something is loaded and gets no work."
