"""Signals of verdicts: one number each for a whole job."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from gpustack.profile.boards import has_no_nvlink
from gpustack.profile.limits import Limits
from gpustack.profile.peers import SIGNIFICANT, Outlier, Turns, compute_turns, find_outliers, list_unused, name_gpus
from gpustack.profile.window import QUANTITIES, GpuWindow, Job
from gpustack.vocabulary.amounts import format_level

HARDWARE = ("hw_thermal", "power_brake", "hw_slowdown")
HEAT = ("sw_thermal",)
POWER_CAP = ("power_cap",)
# Activities of one sample in which a kernel is resident and does nothing: a collective that waits.
STALL_LIMITS = {"sm": 0.3, "tensor": 0.03, "dram": 0.1}
STALLED_ENGINE = 0.85
WORKING_SM = 0.5  # of the other samples: without work between, kernels are small and do not wait


@dataclass(frozen=True)
class Signals:
    """Hold the signals: the median of the job's GPUs; shares 0 to 1, None where a GPU does not say. `tensor` and `dram`
    are shares of the reachable most, `pipe` is the busiest of FP64, FP32 and FP16. `fill` is SM activity of the
    engine's: the share of the GPU that kernels use while there are any. `density` is tensor activity of the SMs'.
    `exchange` is the slower direction of PCIe, `links` the busiest link, `network` the cards of the hosts. `stall` is
    the share of the time in which kernels are resident and do nothing. `spread` is across GPUs; `unused_gpus` and
    `outliers` name some of them, and `unused_activity` is what utilisation or power says of the unused ones. `means`
    are the measured means, and `references` what they are shares of."""

    engine: float | None
    engine_high: float | None
    sm: float | None
    sm_high: float | None
    fill: float | None
    density: float | None
    occupancy: float | None
    tensor: float | None
    dram: float | None
    dram_high: float | None
    pipe: float | None
    pcie: float | None
    exchange: float | None
    nvlink: float | None
    links: float | None
    network: float | None
    utilisation: float | None
    power: float | None
    power_limit: float | None
    clock: float | None
    hardware_slowdown: float | None
    heat_slowdown: float | None
    power_cap: float | None
    stall: float | None
    spread: float | None
    least_power: float | None
    least_clock: float | None
    turns: Turns | None
    unused_gpus: str
    unused_count: int
    unused_activity: float | None
    outliers: tuple[Outlier, ...]
    memory: float | None
    gpus: int
    samples: int
    seconds: float
    interval: float
    gaps: float
    means: Mapping[str, float]
    references: Mapping[str, float]

    def format_mean(self, name: str) -> str:
        """Format a mean beside its reference: `350 of 700 W`. The text is empty where it was not measured."""
        unit = "ratio" if name in SHARES else UNITS[name]
        return format_level(self.means[name], self.references.get(name), unit) if name in self.means else ""


# Units of `means` that are no shares, by name.
UNITS = {
    "pcie": "bytes_per_second",
    "nvlink": "bytes_per_second",
    "power": "watts",
    "power_limit": "watts",
    "clock": "hertz",
    "temperature": "celsius",
    "memory_used": "bytes",
}
SHARES = ("engine", "sm", "occupancy", "tensor", "dram", "pipe", "utilisation")
Reader = Callable[[GpuWindow], float | None]


def compute_signals(job: Job, limits: Limits) -> Signals:
    def compute_median(read: Reader) -> float | None:
        return job.compute_median([read(window) for window in job.windows])

    def compute_mean(name: str) -> float | None:
        return compute_median(lambda window: window.compute_mean(name))

    def compute_share(value: float | None, reachable: float) -> float | None:
        return None if value is None else value / reachable

    spreads = [spread for name in ("tensor", "dram") if (spread := compute_spread(job, name)) is not None]
    unused_windows = list_unused(job, limits)
    pcie = compute_median(lambda window: window.compute_link_share("pcie", window.pcie_peak))
    nvlink = compute_median(read_nvlink)
    means = {name: compute_mean(name) for name in QUANTITIES} | {
        "pipe": compute_median(find_busiest_pipe),
        "pcie": compute_median(lambda window: window.compute_link_rate("pcie")),
        "nvlink": compute_median(lambda window: window.compute_link_rate("nvlink")),
    }
    references = {
        "tensor": limits.tensor_reachable,
        "dram": limits.dram_reachable,
        "pcie": compute_median(lambda window: window.pcie_peak),
        "nvlink": compute_median(lambda window: window.nvlink_peak),
        "power": compute_median(lambda window: None if window.gpu.profile else window.compute_mean("power_limit")),
        "power_limit": compute_median(lambda window: window.power_limit_default),
        "clock": means["clock_max"],
        "memory_used": compute_median(lambda window: window.memory_total),
    }
    return Signals(
        engine=means["engine"],
        engine_high=compute_median(lambda window: window.compute_percentile("engine", 0.95)),
        sm=means["sm"],
        sm_high=compute_median(lambda window: window.compute_percentile("sm", 0.95)),
        fill=compute_median(lambda window: window.compute_ratio("sm", "engine")),
        density=compute_median(lambda window: window.compute_ratio("tensor", "sm")),
        occupancy=means["occupancy"],
        tensor=compute_share(means["tensor"], limits.tensor_reachable),
        dram=compute_share(means["dram"], limits.dram_reachable),
        dram_high=compute_median(lambda window: window.compute_percentile("dram", 0.95)),
        pipe=means["pipe"],
        pcie=pcie,
        exchange=compute_median(compute_exchange),
        nvlink=nvlink,
        links=max(filter(None, (pcie, nvlink)), default=0.0) if pcie is not None and nvlink is not None else None,
        network=compute_network_share(job),
        utilisation=means["utilisation"],
        power=compute_median(lambda window: window.power_share),
        power_limit=compute_median(compute_limit_share),
        clock=compute_median(lambda window: window.compute_ratio("clock", "clock_max")),
        hardware_slowdown=compute_slowdown(job, HARDWARE),
        heat_slowdown=compute_slowdown(job, HEAT),
        power_cap=compute_slowdown(job, POWER_CAP),
        stall=compute_median(compute_stall),
        spread=max(spreads, default=None),
        least_power=compute_least(job, "power"),
        least_clock=compute_least(job, "clock"),
        turns=compute_turns(job),
        unused_gpus=name_gpus(job, unused_windows) if unused_windows else "",
        unused_count=len(unused_windows),
        unused_activity=compute_activity(unused_windows),
        outliers=find_outliers(job),
        memory=compute_median(compute_memory_share),
        gpus=len(job.windows),
        samples=min(window.samples for window in job.windows),
        seconds=min(window.seconds for window in job.windows),
        interval=max(window.interval for window in job.windows),
        gaps=max(window.gaps for window in job.windows),
        means={name: value for name, value in means.items() if value is not None},
        references={name: value for name, value in references.items() if value is not None},
    )


def compute_slowdown(job: Job, causes: tuple[str, ...]) -> float | None:
    """Compute the longest share of the time that a GPU is slowed by one of these causes. Return None where a GPU sends
    none of them."""
    shares = [
        [window.throttle_shares[cause] for cause in causes if cause in window.throttle_shares] for window in job.windows
    ]
    return max(map(max, shares)) if all(shares) else None


def compute_activity(windows: Sequence[GpuWindow]) -> float | None:
    """Compute the highest utilisation, or power where there is none, as what no profiling counter says."""
    shares = [window.compute_mean("utilisation") for window in windows]
    shares = [window.power_share if share is None else share for window, share in zip(windows, shares, strict=True)]
    known_shares = [share for share in shares if share is not None]
    return max(known_shares) if known_shares and len(known_shares) == len(shares) else None


def read_nvlink(window: GpuWindow) -> float | None:
    return 0.0 if has_no_nvlink(window.gpu.model) else window.compute_link_share("nvlink", window.nvlink_peak)


def compute_exchange(window: GpuWindow) -> float | None:
    """Compute the slower direction of PCIe as a share of its link: traffic between GPUs has two directions alike."""
    means = [window.compute_mean(f"pcie_{direction}") for direction in ("receive", "transmit")]
    known_means = [mean for mean in means if mean is not None]
    return min(known_means) / window.pcie_peak if len(known_means) == 2 and window.pcie_peak else None


def compute_network_share(job: Job) -> float | None:
    """Compute the median of the nodes. Return None where one was not measured."""
    nodes = {window.gpu.node for window in job.windows}
    return median(job.network_shares[node] for node in nodes) if nodes <= job.network_shares.keys() else None


def compute_limit_share(window: GpuWindow) -> float | None:
    limit, default = window.compute_mean("power_limit"), window.power_limit_default
    return limit / default if limit is not None and default and not window.gpu.profile else None


def compute_stall(window: GpuWindow) -> float | None:
    """Compute the share of the samples in which kernels are resident and do nothing, between others that work."""
    engine, *other_tracks = (window.tracks.get(name, ()) for name in ("engine", *STALL_LIMITS))
    if not engine or any(len(track) != len(engine) for track in other_tracks):
        return None
    stalls = [
        engine_value > STALLED_ENGINE
        and all(value < limit for value, limit in zip(values, STALL_LIMITS.values(), strict=True))
        for engine_value, *values in zip(engine, *other_tracks, strict=True)
    ]
    working = [sm for sm, is_stalled in zip(other_tracks[0], stalls, strict=True) if not is_stalled]
    return fmean(stalls) if working and fmean(working) > WORKING_SM else 0.0


def find_busiest_pipe(window: GpuWindow) -> float | None:
    """Find the mean of the busiest pipe. It is unknown without FP32, which most work uses."""
    means = [mean for name in ("fp64", "fp32", "fp16") if (mean := window.compute_mean(name)) is not None]
    return max(means) if window.compute_mean("fp32") is not None else None


def compute_spread(job: Job, name: str) -> float | None:
    """Compute the largest less the smallest mean, as a share of the median. Almost nothing has no spread."""
    means = [mean for window in job.windows if (mean := window.compute_mean(name)) is not None]
    if len(means) < len(job.windows):
        return None
    return (max(means) - min(means)) / max(SIGNIFICANT, median(means)) if max(means) > SIGNIFICANT else 0.0


def compute_least(job: Job, name: str) -> float | None:
    """Compute the lowest mean of a GPU, as a share of the median."""
    means = [window.compute_mean(name) for window in job.windows]
    middle = job.compute_median(means)
    known_means = [mean for mean in means if mean is not None]
    return min(known_means) / middle if middle and len(known_means) > 1 else None


def compute_memory_share(window: GpuWindow) -> float | None:
    used_memory = window.compute_mean("memory_used")
    return used_memory / window.memory_total if used_memory is not None and window.memory_total else None
