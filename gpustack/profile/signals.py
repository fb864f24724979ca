"""Signals of verdicts: one number each for a whole job."""

from collections.abc import Callable
from dataclasses import dataclass

from gpustack.profile.limits import Limits
from gpustack.profile.window import GpuWindow, Job

HARDWARE = ("hw_thermal", "power_brake", "hw_slowdown")
HEAT = ("sw_thermal",)
POWER_CAP = ("power_cap",)


@dataclass(frozen=True)
class Signals:
    """Hold the signals: the median of the job's GPUs; shares 0 to 1, None where a GPU does not say. `tensor` and `dram`
    are shares of the reachable most, `pipe` is the busiest of FP64, FP32 and FP16. `fill` is SM activity of the
    engine's: the share of the GPU that kernels use while there are any. `spread` is across GPUs."""

    engine: float | None
    engine_high: float | None
    sm: float | None
    sm_high: float | None
    fill: float | None
    occupancy: float | None
    tensor: float | None
    dram: float | None
    dram_high: float | None
    pipe: float | None
    pcie: float | None
    nvlink: float | None
    utilisation: float | None
    power: float | None
    clock: float | None
    hardware_slowdown: float
    heat_slowdown: float
    power_cap: float
    spread: float | None
    least_power: float | None
    memory: float | None
    gpus: int
    samples: int
    seconds: float
    interval: float
    gaps: float


def compute_signals(job: Job, limits: Limits) -> Signals:
    def compute_median(extract: Callable[[GpuWindow], float | None]) -> float | None:
        return job.compute_median([extract(window) for window in job.windows])

    def compute_share(value: float | None, reachable: float) -> float | None:
        return None if value is None else value / reachable

    def compute_slowdown(causes: tuple[str, ...]) -> float:
        return max(
            max((window.throttle_shares.get(cause, 0.0) for cause in causes), default=0.0) for window in job.windows
        )

    dram_high = compute_median(lambda window: window.compute_percentile("dram", 0.95))
    spreads = [spread for name in ("tensor", "dram") if (spread := find_significant_spread(job, name)) is not None]
    return Signals(
        engine=compute_median(lambda window: window.compute_mean("engine")),
        engine_high=compute_median(lambda window: window.compute_percentile("engine", 0.95)),
        sm=compute_median(lambda window: window.compute_mean("sm")),
        sm_high=compute_median(lambda window: window.compute_percentile("sm", 0.95)),
        fill=compute_median(lambda window: window.compute_ratio("sm", "engine")),
        occupancy=compute_median(lambda window: window.compute_mean("occupancy")),
        tensor=compute_share(compute_median(lambda window: window.compute_mean("tensor")), limits.tensor_reachable),
        dram=compute_share(compute_median(lambda window: window.compute_mean("dram")), limits.dram_reachable),
        dram_high=dram_high,
        pipe=compute_median(find_busiest_pipe),
        pcie=compute_median(lambda window: window.compute_link_share("pcie", window.pcie_peak)),
        nvlink=compute_median(lambda window: window.compute_link_share("nvlink", window.nvlink_peak)),
        utilisation=compute_median(lambda window: window.compute_mean("utilisation")),
        power=compute_median(lambda window: window.compute_ratio("power", "power_limit")),
        clock=compute_median(lambda window: window.compute_ratio("clock", "clock_max")),
        hardware_slowdown=compute_slowdown(HARDWARE),
        heat_slowdown=compute_slowdown(HEAT),
        power_cap=compute_slowdown(POWER_CAP),
        spread=max(spreads, default=None),
        least_power=compute_least_power(job),
        memory=compute_median(compute_memory_share),
        gpus=len(job.windows),
        samples=min(window.samples for window in job.windows),
        seconds=min(window.seconds for window in job.windows),
        interval=max(window.interval for window in job.windows),
        gaps=max(window.gaps for window in job.windows),
    )


def find_busiest_pipe(window: GpuWindow) -> float | None:
    """Find the mean of the busiest pipe. It is unknown without FP32, which most work uses."""
    known = [mean for name in ("fp64", "fp32", "fp16") if (mean := window.compute_mean(name)) is not None]
    return max(known) if window.compute_mean("fp32") is not None else None


def find_significant_spread(job: Job, name: str) -> float | None:
    """Find the spread of a quantity that is there at all: a spread of almost nothing says nothing."""
    means = [window.compute_mean(name) or 0.0 for window in job.windows]
    return job.compute_spread(name) if max(means) > 0.05 else None


def compute_least_power(job: Job) -> float | None:
    """Compute the lowest mean power of a GPU, as a share of the median."""
    means = [window.compute_mean("power") for window in job.windows]
    middle = job.compute_median(means)
    known = [mean for mean in means if mean is not None]
    return min(known) / middle if middle and len(known) > 1 else None


def compute_memory_share(window: GpuWindow) -> float | None:
    used = window.compute_mean("memory_used")
    return used / window.memory_total if used is not None and window.memory_total else None
