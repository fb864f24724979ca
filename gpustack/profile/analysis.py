"""Analysis of a profile: its warm-up is cut off, its stretches are told apart, and each gets a verdict."""

from dataclasses import dataclass, replace

from gpustack.exit_status import ExitStatus, select_status
from gpustack.profile.baseline import IdleComparison, compare_idle, is_slowed_idle
from gpustack.profile.classify import Verdict, classify
from gpustack.profile.file import Profile
from gpustack.profile.limits import DEFAULT, Limits
from gpustack.profile.phases import cut_warm_up, split_stretches
from gpustack.profile.signals import compute_signals
from gpustack.profile.usual import ADVICE, Usual, Workload, compare_usual
from gpustack.profile.window import Job


@dataclass(frozen=True)
class Stretch:
    """Hold a part of the time with its verdict; `begin` is in seconds after the warm-up."""

    begin: float
    seconds: float
    verdict: Verdict


@dataclass(frozen=True)
class Analysis:
    """Hold an analysis. `job` is without its warm-up. `stretches` are empty where the time is one. `usual` is for the
    `workload`. `idle` compares with the idle GPUs of a baseline."""

    profile: Profile
    job: Job
    verdict: Verdict
    stretches: tuple[Stretch, ...] = ()
    workload: Workload | None = None
    usual: tuple[Usual, ...] = ()
    idle: tuple[IdleComparison, ...] = ()

    @property
    def warm_up(self) -> float:
        """Return the length of the warm-up in seconds."""
        return max(0.0, max(window.seconds for window in self.profile.job.windows) - self.job.windows[0].seconds)

    @property
    def exit_status(self) -> ExitStatus:
        return select_status(unknown=self.verdict.confidence == "none")


def analyze(
    profile: Profile, limits: Limits = DEFAULT, workload: Workload | None = None, baseline: Profile | None = None
) -> Analysis:
    """Analyze a profile. Raise UsageError for a baseline of other GPUs."""
    job = Job(tuple(map(cut_warm_up, profile.job.windows)))
    parts = split_stretches(job)
    verdict = classify(job, limits, phases=len(parts))
    if workload:
        verdict = replace(verdict, advice=ADVICE.get((verdict.id, workload), verdict.advice))
    if baseline and is_slowed_idle(baseline, limits):
        verdict = replace(verdict, notes=(*verdict.notes, "Heat or hardware slows these GPUs down also when idle."))
    if profile.cut:
        verdict = replace(verdict, notes=(*verdict.notes, profile.cut))
    above = compare_idle(job, baseline) if baseline else ()
    usual = compare_usual(workload, compute_signals(job, limits), limits) if workload else ()
    return Analysis(profile, job, verdict, judge_stretches(parts, limits), workload, usual, above)


def judge_stretches(parts: tuple[Job, ...], limits: Limits) -> tuple[Stretch, ...]:
    """Judge each stretch; there are none where the time is one. A stretch may be idle however short it is."""
    stretches, begin = [], 0.0
    for job in parts if len(parts) > 1 else ():
        seconds = job.windows[0].seconds
        stretches.append(Stretch(begin, seconds, classify(job, replace(limits, idle_seconds=1e-9))))
        begin += seconds
    return tuple(stretches)
