"""What GPUs measure while nobody uses them, and what a workload adds to that."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from gpustack.command import Command, Prose
from gpustack.errors import UsageError
from gpustack.profile.classes import idle
from gpustack.profile.file import Profile, quantity_units
from gpustack.profile.limits import DEFAULT, Limits
from gpustack.profile.signals import HARDWARE, HEAT, signals_of
from gpustack.profile.window import GpuWindow, Job

COMPARED = ("power", "temperature", "memory_used", "pcie_receive", "pcie_transmit", "nvlink_receive", "nvlink_transmit")
UNITS = quantity_units()


@dataclass(frozen=True)
class Above:
    """The mean of a quantity while idle and while at work, in base units."""

    name: str
    unit: str
    idle: float
    value: float


def require_idle(job: Job, limits: Limits = DEFAULT) -> None:
    """Raises UsageError where the GPUs did something, or it cannot be told."""
    signals = signals_of(job, limits)
    reasons = [condition.refuted for condition in idle(signals, limits) if not condition.holds]
    if signals.samples < limits.least_samples:
        reasons.append(f"There are {signals.samples} distinct samples, {limits.least_samples:g} are needed.")
    if reasons:
        message = "This is no baseline, and was not written: it does not show idle GPUs."
        hint = Prose("gpustack gpu top pods --once shows whose they are")
        raise UsageError("profile-not-idle", message, "\n".join(reasons), hint)


def compare_idle(job: Job, baseline: Profile) -> tuple[Above, ...]:
    """The GPUs' own baseline, or where it has not all of them, that of their model. Raises UsageError for another's."""
    windows = {window.gpu.key: window for window in baseline.job.windows}
    own = [windows[window.gpu.key] for window in job.windows if window.gpu.key in windows]
    models = {(window.gpu.model, window.gpu.profile) for window in job.windows}
    same_model = [window for window in windows.values() if (window.gpu.model, window.gpu.profile) in models]
    if len(own) < len(job.windows) and not same_model:
        why = f"It has {describe(baseline.job)}, and these are {describe(job)}."
        raise UsageError(
            "profile-baseline",
            "The baseline is of other GPUs.",
            why,
            Command("gpustack", "profile", "baseline", "--help"),
        )
    return tuple(above(job, own if len(own) == len(job.windows) else same_model))


def above(job: Job, before: list[GpuWindow]) -> Iterator[Above]:
    for name in COMPARED:
        means = [[one.mean(name) for one in windows] for windows in (before, job.windows)]
        known = [[value for value in values if value is not None] for values in means]
        if all(known):
            yield Above(name, UNITS[name], fmean(known[0]), fmean(known[1]))


def is_slowed_idle(baseline: Profile, limits: Limits) -> bool:
    """Whether heat or hardware holds them down without any work: the room or the board, not the workload."""
    slowed = [one.slowed.get(cause, 0.0) for one in baseline.job.windows for cause in (*HEAT, *HARDWARE)]
    return max(slowed, default=0.0) > limits.heat_slowdown


def describe(job: Job) -> str:
    names = {f"{one.gpu.model or 'an unnamed model'} {one.gpu.profile}".strip() for one in job.windows}
    return ", ".join(sorted(names))
