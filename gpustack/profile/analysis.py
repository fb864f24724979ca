"""A profile judged: warm-up cut off, stretches counted, the verdict, and what it was made from."""

from dataclasses import dataclass

from gpustack.profile.classify import Verdict, classify
from gpustack.profile.file import Profile
from gpustack.profile.limits import DEFAULT, Limits
from gpustack.profile.phases import count_phases, without_warm_up
from gpustack.profile.window import Job


@dataclass(frozen=True)
class Analysis:
    """`job` is without its warm-up; `phases` is the number of stretches that differ."""

    profile: Profile
    job: Job
    phases: int
    verdict: Verdict


def analyze(profile: Profile, limits: Limits = DEFAULT) -> Analysis:
    job = Job(tuple(map(without_warm_up, profile.job.windows)))
    phases = max(map(count_phases, job.windows))
    return Analysis(profile, job, phases, classify(job, limits, phases=phases))
