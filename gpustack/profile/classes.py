"""Classes of workloads, in the order in which they are tried.

The order matters: memory against pipes is asked before the share of resident SMs, since reading a language model's
tokens keeps all SMs resident and is bound by memory. All classes before one are its neighbours: each is excluded by a
measured value, or stays open. `exclusions` name further neighbours, and what excludes them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gpustack.profile import class_conditions as conditions
from gpustack.profile.class_conditions import Conditions, Exclusions
from gpustack.profile.class_ids import Id
from gpustack.profile.class_titles import (
    describe_idle_part,
    describe_imbalance,
    describe_network,
    describe_power_limit,
    describe_throttle,
    describe_turns,
)
from gpustack.profile.condition import expect_above, expect_below
from gpustack.profile.signals import Signals


@dataclass(frozen=True)
class Class:
    """Describe a class, whose `conditions` must all hold. `support` is evidence beside them, `objections` make it
    doubtful. `exclusions` are what excludes classes behind it that look alike, `refutations` what excludes this class
    where its conditions are open. `advice` names things to try, `success_criterion` the change that a later profile
    shows if they helped. With `is_overlay` the work below it has a class of its own."""

    id: Id
    title: str | Callable[[Signals], str]
    conditions: Conditions
    advice: tuple[str, ...]
    success_criterion: str
    support: Conditions = lambda signals, limits: ()
    objections: Conditions = lambda signals, limits: ()
    exclusions: Exclusions = lambda signals, limits: {}
    refutations: Conditions = lambda signals, limits: ()
    is_overlay: bool = False

    def build_title(self, signals: Signals) -> str:
        return self.title if isinstance(self.title, str) else self.title(signals)


CLASSES = (
    Class(
        "idle",
        "The GPUs do nothing.",
        conditions.list_idle_conditions,
        ("Release them, or scale to zero.", "Share one GPU among several such pods (time-slicing, MPS, MIG)."),
        "Fewer GPUs of this workload in gpustack gpu top, or an engine above 5 %.",
        support=lambda s, at: (conditions.expect_power_below(s, 0.25),),
        exclusions=conditions.list_idle_exclusions,
    ),
    Class(
        "partly-idle",
        describe_idle_part,
        conditions.list_partly_idle_conditions,
        ("Request as many GPUs as the job uses, or start a process for each: check CUDA_VISIBLE_DEVICES and ranks.",),
        "No GPU of the job is without work.",
        exclusions=conditions.list_partly_idle_exclusions,
        is_overlay=True,
    ),
    Class(
        "throttled",
        describe_throttle,
        conditions.list_throttle_conditions,
        ("Look at cooling, power supply and temperatures: gpustack gpu top, column SLOWED BY.",),
        "The time slowed by heat and hardware falls to 0, and the SM clock rises.",
        support=lambda s, at: (conditions.expect_clock_below(s, at.full_clock),),
        refutations=conditions.list_unslowed_signs,
        is_overlay=True,
    ),
    Class(
        "power-limited",
        describe_power_limit,
        conditions.list_power_conditions,
        ("Raise the power limit to the default, where power supply and cooling allow it: nvidia-smi -q -d POWER.",),
        "The SM clock rises, and with it the activity that the work is bound by.",
        support=lambda s, at: (conditions.expect_clock_below(s, at.full_clock),),
        refutations=conditions.list_full_clock,
        is_overlay=True,
    ),
    Class(
        "imbalanced",
        describe_imbalance,
        conditions.list_imbalance_conditions,
        ("Compare this GPU's clock, power, PCIe link and input with the others'.", "Pipeline stages: even them out."),
        "The spread across GPUs falls below 10 %, and tensor activity of the median rises.",
    ),
    Class(
        "alternating",
        describe_turns,
        conditions.list_turn_conditions,
        ("More micro-batches for each step, or an interleaved schedule.", "Stages of equal work on each GPU."),
        "Moments at which only a part of the GPUs works become fewer, and the engine rises.",
        is_overlay=True,
    ),
    Class(
        "waiting",
        "Kernels are resident and do nothing: the GPUs wait for something, spin, or hang.",
        conditions.list_waiting_conditions,
        (
            "Look for a rank that ended or stopped: the pods' logs, py-spy dump, NCCL's flight recorder.",
            "End the job and restart it from its last checkpoint; set a timeout for collectives.",
        ),
        "Tensor and memory activity begin again, and power rises.",
        exclusions=conditions.list_waiting_exclusions,
    ),
    Class(
        "communication-bound",
        "The GPUs exchange data more than they compute.",
        conditions.list_communication_conditions,
        ("Overlap communication and computation; larger buckets.", "Check that NCCL uses NVLink: NCCL_DEBUG=INFO."),
        "NVLink's share falls, and tensor activity and power rise.",
        support=lambda s, at: (conditions.expect_power_below(s, 0.65),),
    ),
    Class(
        "network-bound",
        describe_network,
        conditions.list_network_conditions,
        (
            "NCCL_DEBUG=INFO names the transport: NET is the network, P2P or SHM is inside of the host.",
            "Overlap communication and computation; larger messages; experts or shards within a host.",
        ),
        "The network's or PCIe's share falls, and tensor activity and power rise.",
        support=lambda s, at: (expect_above("NVLink", s.nvlink, 0.05, s.format_mean("nvlink")),),
        exclusions=conditions.list_network_exclusions,
    ),
    Class(
        "pcie-bound",
        "The link between host and GPU is what the work waits for.",
        conditions.list_pcie_conditions,
        ("Pin host memory, prefetch, and copy in larger pieces.", "Check the link: gpustack gpu list."),
        "PCIe's share falls, and SM activity rises.",
        refutations=lambda s, at: (expect_above("SMs", s.sm, at.pcie_sm),),
    ),
    Class(
        "unseen-communication",
        "Kernels wait for something that DCGM does not see: communication over the network, or a late launch.",
        conditions.list_unseen_conditions,
        (
            "NCCL_DEBUG=INFO names the transport, and the host's network cards show their bytes in these moments.",
            "The network: fewer or larger messages, overlap, a faster transport (RDMA). A launch: CUDA graphs.",
        ),
        "Time in which kernels only wait falls, and tensor activity and power rise.",
        support=lambda s, at: (conditions.expect_power_below(s, 0.65),),
        exclusions=conditions.list_unseen_exclusions,
    ),
    Class(
        "input-bound",
        "The GPUs wait for work: data loading, preprocessing, or requests that do not come.",
        conditions.list_input_conditions,
        (
            "More loader workers, prefetching, a local store.",
            "Decode and augment on the GPU.",
            "A service: fewer replicas.",
        ),
        "Engine and tensor activity rise; a service does the same with fewer GPUs.",
        objections=lambda s, at: (expect_below(conditions.FILL, s.fill, at.whole_fill),),
    ),
    Class(
        "tensor-bound",
        "The tensor cores work near what they can reach.",
        conditions.list_tensor_conditions,
        ("This is what the GPU is for. FP8 or sparsity, where the model allows it; else a larger GPU.",),
        "More steps a second at the same tensor activity: counters do not show it.",
        support=lambda s, at: (conditions.expect_power_above(s, 0.85),),
    ),
    Class(
        "memory-bound",
        "Memory bandwidth is what the work waits for.",
        conditions.list_memory_conditions,
        ("Larger batches, fused kernels, quantised weights.", "Language models: a paged, quantised KV cache."),
        "Tensor activity rises, and memory stays or falls.",
        support=lambda s, at: (expect_above("SMs", s.sm, 0.5),),
    ),
    Class(
        "compute-bound",
        "The ordinary arithmetic units work near what they can reach, not the tensor cores.",
        conditions.list_compute_conditions,
        ("In deep learning: turn on TF32 or mixed precision.", "In simulations this is as intended."),
        "Tensor activity rises, and FP32 falls.",
        support=lambda s, at: (conditions.expect_tensor_below(s, 0.05),),
    ),
    Class(
        "launch-bound",
        "Kernels are too small for the GPU, or start too late.",
        conditions.list_launch_conditions,
        ("Larger batches, fused kernels, CUDA graphs, torch.compile.", "Several processes on one GPU (MPS), or MIG."),
        "SM activity of the engine's rises.",
        support=lambda s, at: (conditions.expect_memory_below(s, 0.3), conditions.expect_tensor_below(s, 0.1)),
        exclusions=conditions.list_launch_exclusions,
    ),
    Class(
        "latency-bound",
        "The SMs have work and wait inside of it: for memory, for synchronisation, or in a collective.",
        conditions.list_latency_conditions,
        ("Nsight Compute on one kernel shows what its warps wait for.", "With several GPUs: check collectives first."),
        "Tensor or memory activity rises at the same SM activity.",
        support=lambda s, at: (expect_below("occupancy", s.occupancy, 0.3),),
    ),
    Class(
        "moderate-tensor",
        "The tensor cores work for a part of the time; nothing else is at its limit.",
        conditions.list_moderate_conditions,
        ("Profile a few steps (PyTorch profiler, Nsight Systems): which part of a step is without tensor work?",),
        "Tensor activity rises.",
    ),
)
