"""A profile judged: warm-up cut off, stretches told apart, the verdict, and what it was made from."""

from dataclasses import dataclass, replace

from gpustack.profile.baseline import Above, compare_idle, is_slowed_idle
from gpustack.profile.classify import Verdict, classify
from gpustack.profile.expected import ADVICE, Usual, Workload, compare_usual
from gpustack.profile.file import Profile
from gpustack.profile.limits import DEFAULT, Limits
from gpustack.profile.phases import stretches, without_warm_up
from gpustack.profile.signals import signals_of
from gpustack.profile.window import Job


@dataclass(frozen=True)
class Stretch:
    """A part of the time, and what bounds it. `begin` in seconds after the warm-up."""

    begin: float
    seconds: float
    verdict: Verdict


@dataclass(frozen=True)
class Analysis:
    """`job` is without its warm-up. `stretches` are there where the time has several. `usual` is for the `workload`.
    `idle`: what the GPUs measure without it, by a baseline."""

    profile: Profile
    job: Job
    verdict: Verdict
    stretches: tuple[Stretch, ...] = ()
    workload: Workload | None = None
    usual: tuple[Usual, ...] = ()
    idle: tuple[Above, ...] = ()

    @property
    def warm_up(self) -> float:
        """Seconds."""
        return max(0.0, max(window.seconds for window in self.profile.job.windows) - self.job.windows[0].seconds)


def analyze(
    profile: Profile, limits: Limits = DEFAULT, workload: Workload | None = None, baseline: Profile | None = None
) -> Analysis:
    """Raises UsageError for a baseline of other GPUs."""
    job = Job(tuple(map(without_warm_up, profile.job.windows)))
    parts = stretches(job)
    verdict = classify(job, limits, phases=len(parts))
    if workload:
        verdict = replace(verdict, advice=ADVICE.get((verdict.id, workload), verdict.advice))
    if baseline and is_slowed_idle(baseline, limits):
        verdict = replace(verdict, notes=(*verdict.notes, "Heat or hardware slows these GPUs down also when idle."))
    if profile.cut:
        verdict = replace(verdict, notes=(*verdict.notes, profile.cut))
    above = compare_idle(job, baseline) if baseline else ()
    usual = compare_usual(workload, signals_of(job, limits), limits) if workload else ()
    return Analysis(profile, job, verdict, judge_stretches(parts, limits), workload, usual, above)


def judge_stretches(parts: tuple[Job, ...], limits: Limits) -> tuple[Stretch, ...]:
    """None where the time is one. A stretch may be idle however short it is."""
    found, begin = [], 0.0
    for job in parts if len(parts) > 1 else ():
        seconds = job.windows[0].seconds
        found.append(Stretch(begin, seconds, classify(job, replace(limits, idle_seconds=1e-9))))
        begin += seconds
    return tuple(found)
