"""Baselines: measurements of idle GPUs, to which a workload is compared."""

from collections.abc import Iterator
from dataclasses import dataclass
from statistics import fmean

from gpustack.errors import InputError, MissingDataError
from gpustack.profile.class_conditions import list_idle_conditions
from gpustack.profile.file import Profile, build_quantity_units
from gpustack.profile.limits import DEFAULT, Limits
from gpustack.profile.signals import HARDWARE, HEAT, compute_signals
from gpustack.profile.window import GpuWindow, Job

COMPARED_QUANTITIES = (
    "power",
    "temperature",
    "memory_used",
    "pcie_receive",
    "pcie_transmit",
    "nvlink_receive",
    "nvlink_transmit",
)
UNITS = build_quantity_units()


@dataclass(frozen=True)
class IdleComparison:
    """Hold the mean of a quantity while idle and while at work, in base units."""

    name: str
    unit: str
    idle: float
    value: float


def require_idle(job: Job) -> None:
    """Require idle GPUs. Raise MissingDataError where they did something, or it cannot be told."""
    if reasons := list_refusals(job):
        message = "This is no baseline, and was not written: it does not show idle GPUs."
        raise MissingDataError("profile-not-idle", message, "\n".join(reasons))


def list_refusals(job: Job, limits: Limits = DEFAULT) -> list[str]:
    """List the reasons for which a job does not show idle GPUs."""
    signals = compute_signals(job, limits)
    reasons = [condition.refutation for condition in list_idle_conditions(signals, limits) if not condition.holds]
    if signals.samples < limits.least_samples:
        reasons.append(f"There are {signals.samples} distinct samples, {limits.least_samples:g} are needed.")
    return reasons


def compare_idle(job: Job, baseline: Profile) -> tuple[IdleComparison, ...]:
    """Compare with the GPUs' own baseline, or where it has not all of them, with that of their model. Raise InputError
    for the baseline of another model."""
    windows = {window.gpu.key: window for window in baseline.job.windows}
    own_windows = [windows[window.gpu.key] for window in job.windows if window.gpu.key in windows]
    models = {(window.gpu.model, window.gpu.profile) for window in job.windows}
    same_model = [window for window in windows.values() if (window.gpu.model, window.gpu.profile) in models]
    if len(own_windows) < len(job.windows) and not same_model:
        reason = f"It has {describe_gpus(baseline.job)}, and these are {describe_gpus(job)}."
        raise InputError("profile-baseline", "The baseline is of other GPUs.", reason)
    return tuple(compare_means(job, own_windows if len(own_windows) == len(job.windows) else same_model))


def compare_means(job: Job, before: list[GpuWindow]) -> Iterator[IdleComparison]:
    for name in COMPARED_QUANTITIES:
        means = [[window.compute_mean(name) for window in windows] for windows in (before, job.windows)]
        known_means = [[value for value in values if value is not None] for values in means]
        if all(known_means):
            yield IdleComparison(name, UNITS[name], fmean(known_means[0]), fmean(known_means[1]))


def is_slowed_idle(baseline: Profile, limits: Limits) -> bool:
    """Tell whether heat or hardware slows idle GPUs down: then the room or the board is the cause, not the workload."""
    shares = [window.throttle_shares.get(cause, 0.0) for window in baseline.job.windows for cause in (*HEAT, *HARDWARE)]
    return max(shares, default=0.0) > limits.heat_slowdown


def describe_gpus(job: Job) -> str:
    names = {f"{window.gpu.model or 'an unnamed model'} {window.gpu.profile}".strip() for window in job.windows}
    return ", ".join(sorted(names))
