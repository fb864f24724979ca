"""Analysis of a profile: its warm-up is cut off, its stretches are told apart, and each gets a verdict."""

from dataclasses import dataclass, replace

from gpustack.exit_status import ExitStatus, select_status
from gpustack.profile.baseline import IdleComparison, compare_idle, is_slowed_idle
from gpustack.profile.classify import Verdict
from gpustack.profile.file import Profile
from gpustack.profile.limits import DEFAULT, Limits
from gpustack.profile.phases import cut_warm_up
from gpustack.profile.signals import compute_signals
from gpustack.profile.stretches import Stretch, judge_stretches
from gpustack.profile.usual import ADVICE, Usual, Workload, compare_usual, list_workload_notes
from gpustack.profile.window import Job

SHARED_NOTE = (
    "Several pods can share these GPUs: all values but utilisation and memory in use are of the whole GPU, whichever "
    "pod works on it."
)
NO_WORK = ("idle", "not-measured", "insufficient-data")  # Nothing is there to compare with what is usual.


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
    job = replace(profile.job, windows=tuple(map(cut_warm_up, profile.job.windows)))
    verdict, stretches = judge_stretches(job, limits, profile.end)
    if workload and verdict.advice:
        verdict = replace(verdict, advice=ADVICE.get((verdict.id, workload), verdict.advice))
    signals = compute_signals(job, limits)
    usual = compare_usual(workload, signals, limits) if workload and verdict.id not in NO_WORK else ()
    notes = list(list_workload_notes(workload, signals)) if usual else []
    if baseline and is_slowed_idle(baseline, limits):
        notes.append("Heat or hardware slows these GPUs down also when idle.")
    if any(window.is_shared for window in job.windows):
        notes.append(SHARED_NOTE)
    notes += [profile.cut] if profile.cut else []
    idle_comparisons = compare_idle(job, baseline) if baseline else ()
    verdict = replace(verdict, notes=(*verdict.notes, *notes))
    return Analysis(profile, job, verdict, stretches, workload, usual, idle_comparisons)
