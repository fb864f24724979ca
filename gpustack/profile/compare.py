"""Two profiles compared: whether useful work per GPU-hour changed, what moved beyond its own noise, and whether the
machine was the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from gpustack.events import count
from gpustack.profile.analysis import Analysis, analyze
from gpustack.profile.file import Profile, quantity_units
from gpustack.profile.limits import DEFAULT, Limits
from gpustack.profile.machine import Trait, compare_machines
from gpustack.profile.noise import difference, mean_of
from gpustack.profile.window import QUANTITIES, Job

DOUBT = 0.05  # how often equals may be called different, over all quantities together
UNITS = quantity_units()
# What is no work: settings, and what follows from them.
APART = ("power_limit", "clock_max", "utilisation")
# What counts as useful work, the first that is there at all; and energy, whatever the work is.
WORK = ("tensor", "fp64", "fp32", "fp16", "dram")
THERE = 0.05  # less activity in both is none
Outcome = Literal["more", "less", "same", "another-machine", "insufficient-data"]


@dataclass(frozen=True)
class Change:
    """Of the mean of the GPUs, in the base unit `unit`; so per GPU-hour as well. `noise`: by how much it may be off by
    chance, either way; None where that cannot be told. `moved`: further than that, and than runs differ anyway."""

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
        """The change, of what was before."""
        return (self.after - self.before) / self.before if self.before else None

    @property
    def share_noise(self) -> float | None:
        return self.noise / self.before if self.before and self.noise is not None else None


@dataclass(frozen=True)
class Comparison:
    """`work` is the name of the change that counts as useful work, empty where none does. `refused` says why there is
    no winner; `notes` what else differs."""

    before: Analysis
    after: Analysis
    outcome: Outcome
    work: str
    changes: tuple[Change, ...]
    machine: tuple[Trait, ...]
    refused: tuple[str, ...]
    notes: tuple[str, ...]

    def find(self, name: str) -> Change | None:
        return next((change for change in self.changes if change.name == name), None)


def compare(before: Profile, after: Profile, limits: Limits = DEFAULT) -> Comparison:
    runs = analyze(before, limits), analyze(after, limits)
    jobs = runs[0].job, runs[1].job
    machine = compare_machines(*jobs)
    few = tuple(too_few(runs, limits))
    changes = () if few else tuple(compare_tracks(*jobs, limits))
    work = next((name for name in WORK for one in changes if one.name == name and is_there(one)), "")
    others = tuple(f"{one.what}: {one.before}, then {one.after}" for one in machine if one.differs)
    outcome: Outcome = "insufficient-data" if few or not work else "another-machine" if others else "same"
    if outcome == "same" and (main := next(one for one in changes if one.name == work)).moved:
        outcome = "more" if main.after > main.before else "less"
    refused = few or others or (() if work else ("Neither did work that counters show.",))
    return Comparison(*runs, outcome, work, changes, machine, refused, tuple(notes(runs, machine, limits)))


def is_there(change: Change) -> bool:
    return max(change.before, change.after) > THERE


def too_few(runs: Sequence[Analysis], limits: Limits) -> Iterator[str]:
    for run in runs:
        if run.verdict.id == "insufficient-data":
            name = run.profile.label or run.profile.what
            yield from (f"{name}: {reason}" for reason in run.verdict.reasons)


def compare_tracks(before: Job, after: Job, limits: Limits) -> Iterator[Change]:
    pairs = {name: (track_of(before, name), track_of(after, name)) for name in QUANTITIES if name not in APART}
    known = {name: pair for name, pair in pairs.items() if all(len(track) >= limits.least_samples for track in pair)}
    for name, (first, second) in known.items():
        old, new = mean_of(first), mean_of(second)
        found = difference(old, new, DOUBT / len(known))
        noise = found.noise if isfinite(found.noise) else None
        beyond = noise is not None and abs(found.value) > noise
        moved = beyond and abs(found.value) > limits.least_change * abs(old.value)
        yield Change(name, old.value, new.value, noise, moved)


def track_of(job: Job, name: str) -> list[float]:
    """The mean of the GPUs at each moment, from the last one back; empty where one of them does not say."""
    tracks = [window.tracks.get(name, ()) for window in job.windows]
    length = min(map(len, tracks))
    ends = [track[len(track) - length :] for track in tracks]
    return [sum(values) / len(ends) for values in zip(*ends, strict=True)]


def notes(runs: Sequence[Analysis], machine: Sequence[Trait], limits: Limits) -> Iterator[str]:
    first, second = (run.job.windows for run in runs)
    if unknown := [one.what for one in machine if not one.known]:
        yield f"Not known to be the same: {', '.join(unknown)}."
    if len(first) != len(second):
        yield f"{count(len(first), 'GPU')}, then {len(second)}: all numbers are of one GPU."
    if {one.gpu.node for one in first} != {one.gpu.node for one in second}:
        yield "The runs were on other nodes."
    if any(run.stretches for run in runs):
        yield "A run has several stretches: its mean is of all of them."
    if min(one.samples for one in (*first, *second)) < limits.normal_samples:
        yield f"Under {limits.normal_samples:g} samples: noise may be larger than it seems."
    yield "One run each: how runs of the same work differ is not known from these."
