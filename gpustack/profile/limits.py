"""Thresholds of the verdicts, with where each comes from. All are settings.

[N] NVIDIA's profiling guide (docs.nvidia.com/datacenter/dcgm, feature overview) or a statement of NVIDIA's.
[K] the classification of KempnerPulse (github.com/KempnerInstitute/kempnerpulse, docs/classification.md).
[E] an estimate of ours.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Shares are 0 to 1; `…_reachable` is the most of a pipe that is seen in practice."""

    tensor_reachable: float = 0.93  # [N] dcgmproftester -t 1004
    dram_reachable: float = 0.80  # [N]
    least_samples: int = 10  # [E]
    normal_samples: int = 30  # [E]
    many_samples: int = 60  # [E]
    most_gaps: float = 0.2  # [E]
    idle_engine: float = 0.05  # [K]
    idle_sm: float = 0.02  # [E]
    idle_dram: float = 0.02  # [E]
    idle_seconds: float = 1800.0  # [E]
    hardware_slowdown: float = 0.01  # [E] share of time
    heat_slowdown: float = 0.05  # [E]
    power_cap: float = 0.30  # [E]
    power_near_limit: float = 0.95  # [E]
    imbalance: float = 0.3  # [E] of tensor or memory activity
    straggler_power: float = 0.75  # [E] of the median
    busy_engine: float = 0.8  # [E]
    communication_tensor: float = 0.3  # [E]
    communication_dram: float = 0.5  # [E]
    communication_nvlink: float = 0.3  # [E]
    pcie: float = 0.5  # [E]; [K] has 1 GB/s, which is too low for PCIe 4 and 5
    pcie_sm: float = 0.5  # [E]
    fed_engine: float = 0.7  # [E]
    sawtooth: float = 0.5  # [E] coefficient of variation
    plateau_low: float = 0.2  # [E]
    fed_pcie: float = 0.3  # [E]
    tensor: float = 0.5  # [K]
    tensor_sm: float = 0.6  # [K]
    dram: float = 0.7  # [E] of what is reachable
    dram_tensor: float = 0.4  # [E]
    pipe: float = 0.4  # [E]; [K] has 0.2 for fp64
    launch_engine: float = 0.6  # [E]; [K] has 0.4
    launch_sm: float = 0.4  # [E]; [K] has 0.25; [N]: below 0.5 is likely ineffective
    waiting_sm: float = 0.7  # [E]
    waiting_pipe: float = 0.3  # [E]
    some_tensor: float = 0.15  # [E]
    some_tensor_sm: float = 0.4  # [E]


DEFAULT = Limits()
