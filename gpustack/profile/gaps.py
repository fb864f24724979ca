"""Reasons why there is no verdict: too little data, and values that contradict each other."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpustack.command import Command
from gpustack.profile.limits import Limits
from gpustack.profile.peers import name_gpus
from gpustack.profile.signals import Signals
from gpustack.profile.window import DIRECTIONS, NEEDED_QUANTITIES, GpuWindow, Job
from gpustack.vocabulary.amounts import format_level, format_value
from gpustack.vocabulary.contradiction import Contradiction, Name, find_contradiction

MORE_DATA = ("Measure longer, or at a finer interval.", "gpustack gpu check-exporter says what an exporter sends.")
# The DaemonSets are those of NVIDIA's GPU operator. The engine runs inside of the exporter, or for itself.
RESTART = "Restart the DCGM host engine, the known remedy (NVIDIA/dcgm-exporter#662, NVIDIA/DCGM#303): " + Command(
    "kubectl", "-n", "gpu-operator", "rollout", "restart", "daemonset", "nvidia-dcgm-exporter"
)
RESTART_ALONE = "Where a DaemonSet nvidia-dcgm runs, restart that one first. Then record again."
COMPARE = "Compare with nvidia-smi on the node: one of the two sources is wrong."
MEASURED_OTHERWISE: tuple[Name, ...] = ("utilisation", "power")
LABELS: dict[Name, str] = {"sm": "SMs", "clock": "SM clock"}
REFERENCES: dict[Name, tuple[str, str]] = {"power": ("power_limit", "watts"), "clock": ("clock_max", "hertz")}
FROZEN_LEAST = 30  # samples that are all the same


@dataclass(frozen=True)
class Disagreement:
    title: str
    reasons: tuple[str, ...]
    advice: tuple[str, ...]


def find_missing_data(job: Job, signals: Signals, limits: Limits) -> Iterator[str]:
    """Find the reasons why there can be no verdict."""
    if unsent_quantities := sorted({name for window in job.windows for name in window.lacking}):
        yield f"The exporter does not send: {', '.join(unsent_quantities)}."
    if signals.samples < limits.least_samples:
        needed_samples, rate = limits.least_samples, f"one in {signals.interval:.3g} s"
        time = needed_samples * signals.interval
        yield f"There are {signals.samples} distinct samples, {rate}: {needed_samples:g} take {time:.0f} s."
    if signals.gaps > limits.most_gaps:
        yield f"{format_value(signals.gaps, 'ratio')} of the time has no samples."
    pods = sorted({pod for window in job.windows if len(window.pods) > 1 for pod in window.pods})
    if pods:
        yield f"GPUs changed hands within the time: {', '.join(pods)}."
    elif len({window.pods for window in job.windows}) > 1:
        owners = sorted({pod for window in job.windows for pod in window.pods})
        yield f"The GPUs are no one workload's, but of {', '.join(owners)}, or free: choose those of one."


def describe_contradiction(job: Job) -> Disagreement | None:
    """Describe the values of the first GPU that cannot all be true, with both numbers and the remedy."""
    contradictions = [(window, contradiction) for window in job.windows if (contradiction := judge_window(window))]
    if contradictions:
        window, contradiction = contradictions[0]
        gpus = name_gpus(job, [gpu_window for gpu_window, _ in contradictions])
        pair = " while ".join(
            f"{LABELS.get(name, name)} is {format_side(window, name, value)}".replace("SMs is", "SM activity is")
            for name, value in zip(contradiction.names, contradiction.values, strict=True)
        )
        title = f"Activity was not measured: {pair}. Both cannot be true."
        other_names: list[Name] = [name for name in MEASURED_OTHERWISE if name not in contradiction.names]
        other_values = [
            f"{name} {format_side(window, name, mean)}"
            for name in other_names
            if (mean := window.compute_mean(name)) is not None
        ]
        remedy = (RESTART, RESTART_ALONE) if contradiction.dead_counters else (COMPARE,)
        return Disagreement(title, (f"{gpus}: {pair}", *other_values), remedy)
    if frozen_windows := [window for window in job.windows if is_frozen(window)]:
        gpus = name_gpus(job, frozen_windows)
        title = "Activity was not measured: the profiling counters stand still while power changes."
        reason = f"{gpus}: {frozen_windows[0].samples} samples of engine, SMs, tensor cores and memory are all the same"
        return Disagreement(title, (reason,), (RESTART, RESTART_ALONE))
    return None


def judge_window(window: GpuWindow) -> Contradiction | None:
    peaks = {"pcie": window.pcie_peak, "nvlink": window.nvlink_peak}
    # One direction alone shows copies, too.
    rates = [
        (window.compute_mean(f"{link}_{direction}"), peak) for link, peak in peaks.items() for direction in DIRECTIONS
    ]
    rates.append((window.compute_mean("dram"), 1.0))
    return find_contradiction(
        engine=window.compute_mean("engine"),
        utilisation=window.compute_mean("utilisation"),
        power=window.power_share,
        sm=window.compute_mean("sm"),
        clock=window.compute_ratio("clock", "clock_max"),
        copies=max((mean / peak for mean, peak in rates if mean is not None and peak), default=None),
    )


def format_side(window: GpuWindow, name: Name, value: float) -> str:
    """Format one of the two values, power and clock beside what they are a share of."""
    quantity, unit = REFERENCES.get(name, ("", ""))
    mean = window.compute_mean(name)
    if not quantity or not mean:
        return format_value(value, "ratio")
    return format_level(mean, window.compute_mean(quantity), unit)


def is_frozen(window: GpuWindow) -> bool:
    """Tell whether all counters repeat one value that is neither 0 nor 1, while power goes on changing."""
    counters = [window.tracks[name] for name in NEEDED_QUANTITIES]
    stands = all(len(set(track)) == 1 for track in counters) and sum(0 < track[0] < 1 for track in counters) > 1
    return stands and window.samples >= FROZEN_LEAST and len(set(window.tracks.get("power", ()))) > 2
