"""Windows of a workload's GPUs over a time: values of each, their interval, and gaps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

from gpustack.metrics.gpus import Gpu
from gpustack.profile.boards import find_default_power
from gpustack.vocabulary.fields import DEV, PROF

# What is measured over time, by the field that it is of.
QUANTITIES = {
    "engine": f"{PROF}GR_ENGINE_ACTIVE",
    "sm": f"{PROF}SM_ACTIVE",
    "occupancy": f"{PROF}SM_OCCUPANCY",
    "tensor": f"{PROF}PIPE_TENSOR_ACTIVE",
    "dram": f"{PROF}DRAM_ACTIVE",
    "fp64": f"{PROF}PIPE_FP64_ACTIVE",
    "fp32": f"{PROF}PIPE_FP32_ACTIVE",
    "fp16": f"{PROF}PIPE_FP16_ACTIVE",
    "pcie_receive": f"{PROF}PCIE_RX_BYTES",
    "pcie_transmit": f"{PROF}PCIE_TX_BYTES",
    "nvlink_receive": f"{PROF}NVLINK_RX_BYTES",
    "nvlink_transmit": f"{PROF}NVLINK_TX_BYTES",
    "utilisation": f"{DEV}GPU_UTIL",
    "power": f"{DEV}POWER_USAGE",
    "power_limit": f"{DEV}ENFORCED_POWER_LIMIT",
    "clock": f"{DEV}SM_CLOCK",
    "clock_max": f"{DEV}MAX_SM_CLOCK",
    "memory_used": f"{DEV}FB_USED",
    "temperature": f"{DEV}GPU_TEMP",
}
DIRECTIONS = ("receive", "transmit")
# Without these no mechanism can be told, only whether a GPU is busy.
NEEDED_QUANTITIES = ("engine", "sm", "tensor", "dram")


@dataclass(frozen=True)
class GpuWindow:
    """Hold the window of a GPU. `tracks` are values in base units, one for each of `samples` distinct moments,
    `interval` seconds apart; a quantity that the exporter does not send has no track. `gaps` is the share of the time
    without samples. `throttle_shares` are shares of the time by cause. Peaks are one-way bytes a second of the links as
    they are now; None where not known. `pods` are those that had the GPU. `settings` are ecc and mig (0 or 1),
    pcie_generation and pcie_lanes as they can be, power_limit_default in watts and temperature_limit in degrees; a
    setting that the exporter does not send is not there. `is_shared` tells whether its series are of a share of the
    GPU: all but utilisation and memory in use are of the whole GPU then."""

    gpu: Gpu
    seconds: float
    interval: float
    tracks: Mapping[str, Sequence[float]]
    gaps: float = 0.0
    throttle_shares: Mapping[str, float] = field(default_factory=dict)
    pcie_peak: float | None = None
    nvlink_peak: float | None = None
    memory_total: float | None = None
    pods: tuple[str, ...] = ()
    settings: Mapping[str, float] = field(default_factory=dict)
    is_shared: bool = False

    @property
    def samples(self) -> int:
        """Return the number of samples of the fields that a verdict needs: others go on while the profiler is
        paused."""
        return min(len(self.tracks.get(name, ())) for name in NEEDED_QUANTITIES)

    @property
    def power_limit_default(self) -> float | None:
        """Return the power limit of the board as delivered, by the exporter or by the model."""
        return self.settings.get("power_limit_default") or find_default_power(self.gpu.model)

    @property
    def power_share(self) -> float | None:
        """Return the power as a share of its limit. It is unknown for a MIG instance: both are the board's."""
        return None if self.gpu.profile else self.compute_ratio("power", "power_limit")

    @property
    def lacking(self) -> tuple[str, ...]:
        return tuple(name for name in NEEDED_QUANTITIES if not self.tracks.get(name))

    def compute_mean(self, name: str) -> float | None:
        track = self.tracks.get(name)
        return fmean(track) if track else None

    def compute_percentile(self, name: str, share: float) -> float | None:
        track = sorted(self.tracks.get(name, ()))
        return track[min(len(track) - 1, int(share * len(track)))] if track else None

    def compute_link_rate(self, name: str) -> float | None:
        """Compute the bytes a second of the busier direction of a link. Return None where a direction is not measured:
        that one may be the busier."""
        rates = [mean for direction in DIRECTIONS if (mean := self.compute_mean(f"{name}_{direction}")) is not None]
        return max(rates) if len(rates) == len(DIRECTIONS) else None

    def compute_link_share(self, name: str, peak: float | None) -> float | None:
        """Compute the share of the busier direction in the peak of the link."""
        rate = self.compute_link_rate(name)
        return rate / peak if rate is not None and peak else None

    def compute_ratio(self, name: str, reference: str) -> float | None:
        mean, reference_mean = self.compute_mean(name), self.compute_mean(reference)
        return mean / reference_mean if mean is not None and reference_mean else None


@dataclass(frozen=True)
class Job:
    """Hold the windows of the GPUs of one workload over the same time. `network_shares` are by node: what the busiest
    network card moved, of its speed. A node that was not measured is not there."""

    windows: tuple[GpuWindow, ...]
    network_shares: Mapping[str, float] = field(default_factory=dict)

    @property
    def unmeasured_quantities(self) -> tuple[str, ...]:
        """List the quantities that a GPU has no value of, in the order of QUANTITIES."""
        return tuple(name for name in QUANTITIES if not all(window.tracks.get(name) for window in self.windows))

    def compute_median(self, values: Sequence[float | None]) -> float | None:
        """Compute the median of the GPUs. Return None where one of them does not say."""
        known_values = [value for value in values if value is not None]
        return median(known_values) if known_values and len(known_values) == len(values) else None
