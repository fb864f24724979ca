"""From windows to a verdict: the first class whose conditions all hold, how sure it is, and what speaks against it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Literal

from gpustack.profile.classes import CLASSES, Class, Condition, Id
from gpustack.profile.limits import DEFAULT, Limits
from gpustack.profile.signals import Signals, signals_of
from gpustack.profile.window import Job

Confidence = Literal["high", "medium", "low", "none"]
CLEAR, CLOSE = 0.20, 0.05  # beyond a threshold, as a share of it
MORE_DATA = ("Measure longer, or at a finer interval.", "gpustack gpu check-exporter says what an exporter sends.")
CLOSER_LOOK = ("Profile a few steps (PyTorch profiler, Nsight Systems).",)
NO_CLASS = "A later profile has a class."


@dataclass(frozen=True)
class Verdict:
    """`reasons` are what the class was decided by, with numbers; `support` and `against` what makes it more or less
    sure; `ruled_out` the condition that each class before it does not fulfil. `notes` are overlays: what is also so.
    `helped` is what a later profile shows if the advice helped. `second` is a class that is almost as near. `means` are
    the raw numbers."""

    id: Id
    title: str
    confidence: Confidence
    reasons: tuple[str, ...]
    support: tuple[str, ...]
    against: tuple[str, ...]
    ruled_out: tuple[tuple[Id, str], ...]
    notes: tuple[str, ...]
    advice: tuple[str, ...]
    helped: str
    second: Id | None
    means: tuple[tuple[str, float], ...]


def classify(job: Job, limits: Limits = DEFAULT, *, phases: int = 1) -> Verdict:
    """`phases`: how many different stretches the time has, as analyze finds them."""
    signals = signals_of(job, limits)
    if missing := tuple(lacking(job, signals, limits)):
        title = "There is too little data for a verdict."
        return finish("insufficient-data", title, "none", missing, signals, limits, MORE_DATA)
    ruled_out: list[tuple[Id, str]] = []
    unmeasured: list[Id] = []
    for number, one in enumerate(CLASSES):
        conditions = tuple(one.conditions(signals, limits))
        broken = [condition for condition in conditions if not condition.holds]
        if broken and all(condition.value is None for condition in broken):
            unmeasured.append(one.id)
        if not broken:
            second = next_best(CLASSES[number + 1 :], signals, limits)
            return decided(
                one,
                conditions,
                signals,
                limits,
                ruled_out=tuple(ruled_out),
                unmeasured=tuple(unmeasured),
                phases=phases,
                second=second,
            )
        ruled_out.append((one.id, min(broken, key=lambda condition: condition.margin).refuted))
    title = "Nothing stands out: no part of the GPU is at its limit, and none is without work."
    return finish("mixed", title, "low", (), signals, limits, CLOSER_LOOK, ruled_out=tuple(ruled_out))


def lacking(job: Job, signals: Signals, limits: Limits) -> Iterator[str]:
    """Why there can be no verdict."""
    if unsent := sorted({name for window in job.windows for name in window.lacking}):
        yield f"The exporter does not send: {', '.join(unsent)}."
    if signals.samples < limits.least_samples:
        needed, each = limits.least_samples, f"one in {signals.every:.3g} s"
        yield f"There are {signals.samples} distinct samples, {each}: {needed:g} take {needed * signals.every:.0f} s."
    if signals.gaps > limits.most_gaps:
        yield f"{signals.gaps:.0%} of the time has no samples."
    pods = sorted({pod for window in job.windows if len(window.pods) > 1 for pod in window.pods})
    if pods:
        yield f"GPUs changed hands within the time: {', '.join(pods)}."
    elif len({window.pods for window in job.windows}) > 1:
        several = sorted({pod for window in job.windows for pod in window.pods})
        yield f"The GPUs are no one workload's, but of {', '.join(several)}, or free: choose one with --pod."


def decided(
    one: Class,
    conditions: Sequence[Condition],
    signals: Signals,
    limits: Limits,
    *,
    ruled_out: tuple[tuple[Id, str], ...],
    unmeasured: tuple[Id, ...],
    phases: int,
    second: Id | None,
) -> Verdict:
    support = [condition for condition in one.support(signals, limits) if condition.holds]
    against = [condition for condition in one.against(signals, limits) if condition.holds]
    margin = min(condition.margin for condition in conditions)
    short = one.id == "idle" and signals.seconds < limits.idle_seconds
    backed = bool(support) or not tuple(one.support(signals, limits))
    doubtful = bool(against or unmeasured) or phases > 1 or margin < CLOSE or short
    enough = max(one.samples, limits.normal_samples)
    sure = confidence(signals.samples, enough, limits.many_samples, margin, backed=backed, doubtful=doubtful)
    return finish(
        one.id,
        one.title,
        sure,
        tuple(map(str, conditions)),
        signals,
        limits,
        one.advice,
        helped=one.helped,
        support=tuple(map(str, support)),
        against=tuple(map(str, against)),
        ruled_out=ruled_out,
        notes=tuple(f"What {id} needs was not measured: it may be that." for id in unmeasured),
        second=second if margin < CLEAR else None,
    )


def confidence(samples: int, enough: float, many: float, margin: float, *, backed: bool, doubtful: bool) -> Confidence:
    if samples < enough or doubtful:
        return "low"
    return "high" if samples >= many and margin >= CLEAR and backed else "medium"


def next_best(others: Sequence[Class], signals: Signals, limits: Limits) -> Id | None:
    for one in others:
        if all(condition.holds for condition in one.conditions(signals, limits)):
            return one.id
    return None


def finish(
    id: Id,
    title: str,
    sure: Confidence,
    reasons: tuple[str, ...],
    signals: Signals,
    limits: Limits,
    advice: tuple[str, ...],
    *,
    helped: str = NO_CLASS,
    support: tuple[str, ...] = (),
    against: tuple[str, ...] = (),
    ruled_out: tuple[tuple[Id, str], ...] = (),
    notes: tuple[str, ...] = (),
    second: Id | None = None,
) -> Verdict:
    means = tuple((one.name, value) for one in fields(signals) if (value := getattr(signals, one.name)) is not None)
    return Verdict(
        id,
        title,
        sure,
        reasons,
        support,
        against,
        ruled_out,
        (*notes, *overlays(id, signals, limits)),
        advice,
        helped,
        second,
        means,
    )


def overlays(id: Id, signals: Signals, limits: Limits) -> Iterator[str]:
    """What is also so, whatever the class."""
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
