"""What verdicts are made of: one number each for a whole job."""

from collections.abc import Callable
from dataclasses import dataclass

from gpustack.profile.limits import Limits
from gpustack.profile.window import GpuWindow, Job

HARDWARE = ("hw_thermal", "power_brake", "hw_slowdown")
HEAT = ("sw_thermal",)
POWER_CAP = ("power_cap",)


@dataclass(frozen=True)
class Signals:
    """The median of the job's GPUs; shares 0 to 1, None where a GPU does not say. `tensor` and `dram` are of what is
    reachable, `pipe` is the busiest of FP64, FP32 and FP16. `fill` is SM activity of the engine's: how much of the
    GPU kernels use while there are any. `spread` is across GPUs."""

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
    every: float
    gaps: float


def signals_of(job: Job, limits: Limits) -> Signals:
    def middle(of: Callable[[GpuWindow], float | None]) -> float | None:
        return job.middle([of(window) for window in job.windows])

    def share(value: float | None, reachable: float) -> float | None:
        return None if value is None else value / reachable

    def slowed(causes: tuple[str, ...]) -> float:
        return max(max((window.slowed.get(cause, 0.0) for cause in causes), default=0.0) for window in job.windows)

    dram_high = middle(lambda window: window.percentile("dram", 0.95))
    spreads = [found for name in ("tensor", "dram") if (found := significant_spread(job, name)) is not None]
    return Signals(
        engine=middle(lambda window: window.mean("engine")),
        engine_high=middle(lambda window: window.percentile("engine", 0.95)),
        sm=middle(lambda window: window.mean("sm")),
        sm_high=middle(lambda window: window.percentile("sm", 0.95)),
        fill=middle(lambda window: window.ratio("sm", "engine")),
        occupancy=middle(lambda window: window.mean("occupancy")),
        tensor=share(middle(lambda window: window.mean("tensor")), limits.tensor_reachable),
        dram=share(middle(lambda window: window.mean("dram")), limits.dram_reachable),
        dram_high=dram_high,
        pipe=middle(busiest_pipe),
        pcie=middle(lambda window: window.link("pcie", window.pcie_peak)),
        nvlink=middle(lambda window: window.link("nvlink", window.nvlink_peak)),
        utilisation=middle(lambda window: window.mean("utilisation")),
        power=middle(lambda window: window.ratio("power", "power_limit")),
        clock=middle(lambda window: window.ratio("clock", "clock_max")),
        hardware_slowdown=slowed(HARDWARE),
        heat_slowdown=slowed(HEAT),
        power_cap=slowed(POWER_CAP),
        spread=max(spreads, default=None),
        least_power=least_power(job),
        memory=middle(memory_share),
        gpus=len(job.windows),
        samples=min(window.samples for window in job.windows),
        seconds=min(window.seconds for window in job.windows),
        every=max(window.every for window in job.windows),
        gaps=max(window.gaps for window in job.windows),
    )


def busiest_pipe(window: GpuWindow) -> float | None:
    """Not known without FP32, which most work uses."""
    known = [mean for name in ("fp64", "fp32", "fp16") if (mean := window.mean(name)) is not None]
    return max(known) if window.mean("fp32") is not None else None


def significant_spread(job: Job, name: str) -> float | None:
    """Of a quantity that is there at all: a spread of almost nothing says nothing."""
    means = [window.mean(name) or 0.0 for window in job.windows]
    return job.spread(name) if max(means) > 0.05 else None


def least_power(job: Job) -> float | None:
    """The lowest mean power of a GPU, as a share of the median."""
    means = [window.mean("power") for window in job.windows]
    middle = job.middle(means)
    known = [mean for mean in means if mean is not None]
    return min(known) / middle if middle and len(known) > 1 else None


def memory_share(window: GpuWindow) -> float | None:
    used = window.mean("memory_used")
    return used / window.memory_total if used is not None and window.memory_total else None
