"""Thresholds of the verdicts, each with its purpose and source. All are settings.

[N] NVIDIA's profiling guide (docs.nvidia.com/datacenter/dcgm, feature overview) or a statement of NVIDIA's.
[K] the classification of KempnerPulse (github.com/KempnerInstitute/kempnerpulse, docs/classification.md).
[E] an estimate of gpustack.
[M] measured by gpustack on an H100 80GB HBM3 (docs/profiling.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from math import isfinite

from gpustack.config.complaint import suggest_nearest
from gpustack.errors import InputError


def declare_limit(value: float, source: str, description: str) -> float:
    return field(default=value, metadata={"source": source, "about": description})


@dataclass(frozen=True)
class Limits:
    """Hold the thresholds. Shares are 0 to 1, times in seconds; `…_reachable` is the most of a pipe that is seen in
    practice."""

    tensor_reachable: float = declare_limit(0.93, "[N] dcgmproftester -t 1004", "the most that tensor cores reach")
    dram_reachable: float = declare_limit(0.90, "[M]; [N] has 0.8 for a full one", "the most that memory reaches")
    least_samples: float = declare_limit(10, "[E]", "distinct samples for any verdict")
    normal_samples: float = declare_limit(30, "[E]", "distinct samples for a verdict that is not low")
    many_samples: float = declare_limit(60, "[E]", "distinct samples for a high one")
    most_gaps: float = declare_limit(0.2, "[E]", "share of time without samples for any verdict")
    idle_engine: float = declare_limit(0.05, "[K]", "idle: engine, 95th percentile")
    idle_sm: float = declare_limit(0.02, "[E]", "idle: SMs, 95th percentile")
    idle_dram: float = declare_limit(0.02, "[E]", "idle: memory, 95th percentile")
    idle_pcie: float = declare_limit(0.05, "[E]", "idle: PCIe of its link; copies alone use no engine")
    idle_activity: float = declare_limit(0.35, "[M]: 0.19 with a context", "idle: utilisation or power below")
    idle_seconds: float = declare_limit(1800.0, "[E]", "idle: a pause is excluded from so many seconds on")
    hardware_slowdown: float = declare_limit(0.01, "[E]", "throttled: share of time slowed by hardware")
    heat_slowdown: float = declare_limit(0.05, "[E]", "throttled: share of time slowed for heat")
    power_cap: float = declare_limit(0.30, "[E]", "power-limited, noted: share of time at the power limit")
    power_near_limit: float = declare_limit(0.85, "[E]", "power-limited, noted: power of its limit")
    low_limit: float = declare_limit(0.95, "[E]", "power-limited, noted: power limit of the board's default, below")
    full_clock: float = declare_limit(
        0.8, "[M]: 0.9 and more below full power", "throttled: not above; noted: clock below"
    )
    full_power: float = declare_limit(0.9, "[E]: heat lowers power", "throttled: not above this power of its limit")
    imbalance: float = declare_limit(0.3, "[E]", "imbalanced: spread of tensor or memory activity")
    straggler_power: float = declare_limit(0.75, "[E]", "imbalanced: lowest power of the median")
    straggler_clock: float = declare_limit(0.85, "[E]", "imbalanced: lowest clock of the median")
    mixed_share: float = declare_limit(0.3, "[E]", "alternating: moments at which only a part of the GPUs works")
    evenness: float = declare_limit(0.3, "[E]", "alternating: changes of the number of working GPUs, of chance, below")
    waiting_engine: float = declare_limit(0.85, "[E]", "waiting, unseen-communication: engine")
    waiting_fill: float = declare_limit(0.25, "[E]: NCCL takes up to 32 of 132", "waiting: SMs below")
    waiting_activity: float = declare_limit(0.01, "[E]", "waiting: pipes and memory below")
    waiting_power: float = declare_limit(0.35, "[M]: 0.22 to 0.28", "waiting: power of its limit below")
    still_links: float = declare_limit(0.002, "[E]", "waiting: a launch is excluded with links below")
    stall: float = declare_limit(0.3, "[E]", "unseen-communication: time with kernels that do nothing")
    density: float = declare_limit(0.4, "[E]", "unseen-communication: tensor cores, of the SMs")
    network: float = declare_limit(0.3, "[E]", "network-bound: busiest network card of a host, of its speed")
    exchange: float = declare_limit(0.25, "[E]", "network-bound: slower direction of PCIe")
    busy_engine: float = declare_limit(0.8, "[E]", "communication-bound, imbalanced: engine")
    communication_tensor: float = declare_limit(0.3, "[E]", "communication-bound: tensor cores below")
    communication_dram: float = declare_limit(0.5, "[E]", "communication-bound: memory below")
    communication_nvlink: float = declare_limit(0.3, "[E]", "communication-bound: NVLink")
    pcie: float = declare_limit(
        0.25, "[M]: pageable memory reaches 0.28", "pcie-bound: PCIe of its link; input-bound: below"
    )
    pcie_sm: float = declare_limit(0.5, "[E]", "pcie-bound: SMs below")
    fed_engine: float = declare_limit(0.7, "[E]", "input-bound: engine below")
    tensor: float = declare_limit(0.5, "[K]", "tensor-bound: tensor cores")
    tensor_sm: float = declare_limit(0.6, "[K]", "tensor-bound: SMs")
    dram: float = declare_limit(0.7, "[E]", "memory-bound: memory; compute-bound: below")
    dram_tensor: float = declare_limit(0.4, "[E]", "memory-bound: tensor cores below")
    pipe: float = declare_limit(0.4, "[E]; [K] has 0.2 for FP64", "compute-bound: busiest of FP64, FP32 and FP16")
    launch_engine: float = declare_limit(
        0.2, "[M]: tiny kernels, one after the other, reach 0.3", "launch-bound: engine"
    )
    launch_fill: float = declare_limit(
        0.5, "[N]: under 0.5 is likely ineffective", "launch-bound: SMs of the engine below"
    )
    whole_fill: float = declare_limit(
        0.75, "[M]: large kernels reach 0.87", "input-bound: not sure with SMs of the engine below"
    )
    waiting_sm: float = declare_limit(0.7, "[E]", "latency-bound: SMs")
    waiting_pipe: float = declare_limit(0.3, "[E]", "latency-bound: all pipes and memory below")
    some_tensor: float = declare_limit(0.15, "[E]", "moderate-tensor: tensor cores")
    some_tensor_sm: float = declare_limit(0.4, "[E]", "moderate-tensor: SMs")
    least_change: float = declare_limit(0.02, "[E]", "compare: a smaller change is none, as runs differ by themselves")


DEFAULT = Limits()
NAMES = tuple(limit.name for limit in fields(Limits))


def set_limits(words: Sequence[str]) -> Limits:
    """Set thresholds from words `NAME=VALUE`. Raise InputError that lists all words that are none."""
    values: dict[str, float] = {}
    complaints = []
    for word in words:
        name, _, text = word.partition("=")
        number = parse_number(text)
        if name in NAMES and number is not None:
            values[name] = number
        else:
            complaints.append(f"{word}: {'no number above 0' if name in NAMES else describe_unknown(name)}")
    if complaints:
        reason = "\n".join([*complaints, "They are written NAME=VALUE: dram=0.6."])
        raise InputError("profile-threshold", "A threshold cannot be read.", reason)
    return replace(DEFAULT, **values)


def describe_unknown(name: str) -> str:
    return " ".join(filter(None, ("no such threshold.", suggest_nearest([name], NAMES))))


def parse_number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if isfinite(value) and value > 0 else None
