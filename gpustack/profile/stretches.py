"""Verdicts of a time that changes: on each of its stretches, and on the whole."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from gpustack.profile.classify import Verdict, classify
from gpustack.profile.limits import Limits
from gpustack.profile.phases import find_pauses, join_jobs, split_pauses, split_stretches
from gpustack.profile.window import Job
from gpustack.times import format_duration, format_minute
from gpustack.vocabulary.amounts import format_value

MANY_COPIES = 2.0  # times the bytes a second of the busy time, in a pause
LEAST_COPIES = 1e9  # bytes a second
WORK_BY_DIRECTION = {"transmit": "to the host: a checkpoint is written", "receive": "from the host: data is loaded"}
PAUSE_ADVICE = "The pauses: write checkpoints in the background, prefetch, evaluate on another GPU."


@dataclass(frozen=True)
class Stretch:
    """Hold a part of the time with its verdict; `begin` is in seconds after the warm-up."""

    begin: float
    seconds: float
    verdict: Verdict


def judge_stretches(job: Job, limits: Limits, end: float) -> tuple[Verdict, tuple[Stretch, ...]]:
    """Judge a job and its stretches; there are none where the time is one. Pauses are stretches, and the verdict is on
    the time between them. GPUs that wait at the end have the verdict of that end. Else it is that of the class with the
    most time. `end` is in seconds since 1970."""
    if pauses := find_pauses(job, limits):
        parts = split_pauses(job, pauses)
        for part, rests in parts:
            if rests and (verdict := classify(part, limits)).id == "not-measured":
                return verdict, ()
        stretches = list_stretches([part for part, _ in parts], limits, [rests for _, rests in parts])
        busy = join_jobs([part for part, rests in parts if not rests])
        verdict = judge_parts(busy, split_stretches(busy), limits, end)
        return name_pauses(verdict, parts), stretches
    parts_of_job = split_stretches(job)
    stretches = list_stretches(parts_of_job, limits, [False] * len(parts_of_job)) if len(parts_of_job) > 1 else ()
    return judge_parts(job, parts_of_job, limits, end), stretches


def list_stretches(parts: Sequence[Job], limits: Limits, pauses: Sequence[bool]) -> tuple[Stretch, ...]:
    """List the verdict of each part. A part may be idle however short it is."""
    stretches, begin = [], 0.0
    for part, rests in zip(parts, pauses, strict=True):
        seconds = part.windows[0].seconds
        verdict = classify(part, replace(limits, idle_seconds=1e-9))
        if rests:
            verdict = replace(verdict, id="pause", title="The GPUs rest between times of work.", confidence="high")
        stretches.append(Stretch(begin, seconds, verdict))
        begin += seconds
    return tuple(stretches)


def judge_parts(job: Job, parts: Sequence[Job], limits: Limits, end: float) -> Verdict:
    """Judge a job by its parts, which differ by more than noise, though maybe not by their class."""
    verdicts = [classify(part, limits) for part in parts]
    seconds: dict[str, float] = {}
    for part, verdict in zip(parts, verdicts, strict=True):
        seconds[verdict.id] = seconds.get(verdict.id, 0.0) + part.windows[0].seconds
    if verdicts[-1].id == "waiting":
        return mark_waiting(verdicts[-1], parts, end)
    job_verdict = classify(job, limits, phases=len(seconds))
    main = max(seconds, key=lambda id: seconds[id])
    if job_verdict.id == main or job_verdict.confidence == "none":
        return job_verdict
    fitting = [part for part, verdict in zip(parts, verdicts, strict=True) if verdict.id == main]
    longest = max(fitting, key=lambda part: part.windows[0].seconds)
    verdict = classify(longest, limits, phases=len(seconds))
    note = f"The time has {len(parts)} stretches: the verdict is on the longest one of the class with the most time."
    return replace(verdict, notes=(*verdict.notes, note))


def mark_waiting(verdict: Verdict, parts: Sequence[Job], end: float) -> Verdict:
    """Note since when GPUs wait."""
    seconds = parts[-1].windows[0].seconds
    sentence = f"It has been so for {format_duration(seconds)}, since {format_minute(end - seconds)} UTC"
    note = f"{sentence}." if len(parts) > 1 else f"{sentence} or before: the recording began then."
    return replace(verdict, notes=(note, *verdict.notes))


def name_pauses(verdict: Verdict, parts: Sequence[tuple[Job, bool]]) -> Verdict:
    advice = (PAUSE_ADVICE, *verdict.advice) if verdict.advice else ()
    return replace(verdict, notes=(*describe_pauses(parts), *verdict.notes), advice=advice)


def describe_pauses(parts: Sequence[tuple[Job, bool]]) -> Iterator[str]:
    """Describe how long and how often all GPUs rest, and what is copied meanwhile."""
    lengths = [part.windows[0].seconds for part, rests in parts if rests]
    share = sum(lengths) / sum(part.windows[0].seconds for part, _ in parts)
    times = "once" if len(lengths) == 1 else f"{len(lengths)} times"
    length = format_duration(min(lengths))
    if round(max(lengths)) > round(min(lengths)):
        length = f"{length} to {format_duration(max(lengths))}"
    yield (
        f"All GPUs pause {times} for {length}, {format_value(share, 'ratio')} of the time. "
        "The verdict is on the time between."
    )
    busy, rest = (compute_copies([part for part, rests in parts if rests is state]) for state in (False, True))
    for direction, work in WORK_BY_DIRECTION.items():
        if (
            direction in rest
            and direction in busy
            and rest[direction] > max(LEAST_COPIES, MANY_COPIES * busy[direction])
        ):
            copies, usual = (format_value(values[direction], "bytes_per_second") for values in (rest, busy))
            yield f"In the pauses {copies} go {work}, as it seems; {usual} between them."


def compute_copies(parts: Sequence[Job]) -> dict[str, float]:
    """Compute the mean of PCIe of all GPUs by direction. A direction that one of them does not measure is not there."""
    windows = join_jobs(parts).windows
    copies: dict[str, float] = {}
    for direction in WORK_BY_DIRECTION:
        means = [mean for window in windows if (mean := window.compute_mean(f"pcie_{direction}")) is not None]
        if len(means) == len(windows):
            copies[direction] = fmean(means)
    return copies
