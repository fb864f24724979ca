"""Comparison of two profiles: useful work per GPU-hour, changes beyond their own noise, and differences of the
machine."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from gpustack.events import format_count
from gpustack.profile.analysis import Analysis, analyze
from gpustack.profile.file import Profile, build_quantity_units
from gpustack.profile.limits import DEFAULT, Limits
from gpustack.profile.machine import Trait, compare_machines
from gpustack.profile.noise import compute_difference, estimate_mean
from gpustack.profile.window import QUANTITIES, Job
from gpustack.vocabulary.amounts import format_value

DOUBT = 0.05  # how often equals may be called different, over all quantities together
UNITS = build_quantity_units()
# Settings and what follows from them: no work is measured by these.
EXCLUDED_QUANTITIES = ("power_limit", "clock_max", "utilisation")
# Useful work is counted by the first of these that both runs have.
WORK = ("tensor", "fp64", "fp32", "fp16", "dram")
ACTIVITY_FLOOR = 0.05  # less activity in both is none
Outcome = Literal["more", "less", "same", "another-machine", "insufficient-data"]


@dataclass(frozen=True)
class Change:
    """Hold a change of the mean of the GPUs, in the base unit `unit`; so it is per GPU-hour as well. By chance it may
    be off by `noise`, either way; None where that cannot be told. With `moved` it is larger than the noise and than the
    usual difference of runs, and not both values are displayed as zero."""

    name: str
    before: float
    after: float
    noise: float | None
    moved: bool

    @property
    def unit(self) -> str:
        return UNITS[self.name]

    @property
    def share(self) -> float | None:
        """Return the change as a share of the value before."""
        return (self.after - self.before) / self.before if self.before else None

    @property
    def share_noise(self) -> float | None:
        return self.noise / self.before if self.before and self.noise is not None else None


@dataclass(frozen=True)
class Comparison:
    """Hold a comparison. `work` is the name of the change that counts as useful work, empty where none does. `refusals`
    say why there is no winner; `notes` name other differences."""

    before: Analysis
    after: Analysis
    outcome: Outcome
    work: str
    changes: tuple[Change, ...]
    machine: tuple[Trait, ...]
    refusals: tuple[str, ...]
    notes: tuple[str, ...]

    def find_change(self, name: str) -> Change | None:
        return next((change for change in self.changes if change.name == name), None)


def compare_profiles(before: Profile, after: Profile, limits: Limits = DEFAULT) -> Comparison:
    runs = analyze(before, limits), analyze(after, limits)
    jobs = runs[0].job, runs[1].job
    machine = compare_machines(*jobs)
    short_runs = tuple(find_short_runs(runs, limits))
    changes = () if short_runs else tuple(compare_tracks(*jobs, limits))
    work = next((name for name in WORK for change in changes if change.name == name and is_active(change)), "")
    differences = tuple(f"{trait.name}: {trait.before}, then {trait.after}" for trait in machine if trait.differs)
    outcome: Outcome = "insufficient-data" if short_runs or not work else "another-machine" if differences else "same"
    if outcome == "same" and (main := next(work_change for work_change in changes if work_change.name == work)).moved:
        outcome = "more" if main.after > main.before else "less"
    refusals = short_runs or differences or (() if work else ("Neither did work that counters show.",))
    return Comparison(*runs, outcome, work, changes, machine, refusals, tuple(list_notes(runs, machine, limits)))


def is_active(change: Change) -> bool:
    return max(change.before, change.after) > ACTIVITY_FLOOR


def find_short_runs(runs: Sequence[Analysis], limits: Limits) -> Iterator[str]:
    for run in runs:
        if run.verdict.confidence == "none":
            name = run.profile.label or run.profile.subject
            yield from (f"{name}: {reason}" for reason in run.verdict.reasons)


def compare_tracks(before: Job, after: Job, limits: Limits) -> Iterator[Change]:
    pairs = {
        name: (build_track(before, name), build_track(after, name))
        for name in QUANTITIES
        if name not in EXCLUDED_QUANTITIES
    }
    tracks = {name: pair for name, pair in pairs.items() if all(len(track) >= limits.least_samples for track in pair)}
    for name, (first, second) in tracks.items():
        old, new = estimate_mean(first), estimate_mean(second)
        difference = compute_difference(old, new, DOUBT / len(tracks))
        noise = difference.noise if isfinite(difference.noise) else None
        exceeds_noise = noise is not None and abs(difference.value) > noise
        is_visible = any(format_value(mean.value, UNITS[name]) != format_value(0, UNITS[name]) for mean in (old, new))
        has_moved = exceeds_noise and is_visible and abs(difference.value) > limits.least_change * abs(old.value)
        yield Change(name, old.value, new.value, noise, has_moved)


def build_track(job: Job, name: str) -> list[float]:
    """Build the mean of the GPUs at each moment, aligned at the last one; it is empty where one of them has no
    values."""
    tracks = [window.tracks.get(name, ()) for window in job.windows]
    length = min(map(len, tracks))
    ends = [track[len(track) - length :] for track in tracks]
    return [sum(values) / len(ends) for values in zip(*ends, strict=True)]


def list_notes(runs: Sequence[Analysis], machine: Sequence[Trait], limits: Limits) -> Iterator[str]:
    first, second = (run.job.windows for run in runs)
    if unknown := [trait.name for trait in machine if not trait.known]:
        yield f"Not known to be the same: {', '.join(unknown)}."
    if len(first) != len(second):
        yield f"{format_count(len(first), 'GPU')}, then {len(second)}: all numbers are of one GPU."
    if {gpu_window.gpu.node for gpu_window in first} != {second_window.gpu.node for second_window in second}:
        yield "The runs were on other nodes."
    if any(run.stretches for run in runs):
        yield "A run has several stretches: its mean is of all of them."
    if min(window.samples for window in (*first, *second)) < limits.normal_samples:
        yield f"Under {limits.normal_samples:g} samples: noise may be larger than it seems."
    yield "One run each: how runs of the same work differ is not known from these."
