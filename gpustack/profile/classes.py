"""Classes of workloads: the conditions of each, in the order in which they are tried.

The order matters: memory against pipes is asked before the share of resident SMs, since reading a language model's
tokens keeps all SMs resident and is bound by memory. Sources of thresholds are in limits.py.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from gpustack.profile.limits import Limits
from gpustack.profile.signals import Signals

Id = Literal[
    "insufficient-data",
    "idle",
    "throttled",
    "imbalanced",
    "communication-bound",
    "pcie-bound",
    "input-bound",
    "tensor-bound",
    "memory-bound",
    "compute-bound",
    "launch-bound",
    "latency-bound",
    "moderate-tensor",
    "mixed",
]

FILL = "SMs while the engine works"


@dataclass(frozen=True)
class Condition:
    """Describe a condition: `quantity` must be above (or below) `threshold`. Without a value it does not hold, and is
    not refuted."""

    quantity: str
    value: float | None
    must_exceed: bool
    threshold: float

    @property
    def holds(self) -> bool:
        return self.value is not None and (self.value > self.threshold) is self.must_exceed

    @property
    def margin(self) -> float:
        """Return the distance beyond the threshold, as a share of it; it is negative before it."""
        if self.value is None:
            return -1.0
        distance = (self.value - self.threshold) / self.threshold
        return distance if self.must_exceed else -distance

    @property
    def refutation(self) -> str:
        """Explain why the condition does not hold."""
        return self.format_text(f"not {self.side}")

    @property
    def side(self) -> str:
        return "above" if self.must_exceed else "below"

    def format_text(self, side: str) -> str:
        value = "unknown" if self.value is None else f"{self.value:.2f}"
        return f"{self.quantity} {value}, {side} {self.threshold:g}"

    def __str__(self) -> str:
        return self.format_text(self.side)


@dataclass(frozen=True)
class Class:
    """Describe a class, whose `conditions` must all hold. `support` makes it surer, `objections` less sure. `advice`
    names things to try, `success_criterion` the change that a later profile shows if they helped."""

    id: Id
    title: str
    samples: int
    conditions: Callable[[Signals, Limits], Iterable[Condition]]
    advice: tuple[str, ...]
    success_criterion: str
    support: Callable[[Signals, Limits], Iterable[Condition]] = lambda signals, limits: ()
    objections: Callable[[Signals, Limits], Iterable[Condition]] = lambda signals, limits: ()


def expect_above(quantity: str, value: float | None, threshold: float) -> Condition:
    return Condition(quantity, value, True, threshold)  # noqa: FBT003


def expect_below(quantity: str, value: float | None, threshold: float) -> Condition:
    return Condition(quantity, value, False, threshold)  # noqa: FBT003


def list_idle_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_below("engine, 95th percentile", signals.engine_high, limits.idle_engine)
    yield expect_below("SMs, 95th percentile", signals.sm_high, limits.idle_sm)
    yield expect_below("memory, 95th percentile", signals.dram_high, limits.idle_dram)
    if signals.pcie is not None:
        yield expect_below("PCIe", signals.pcie, limits.idle_pcie)


def list_throttle_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    """Yield the condition that is further beyond its threshold: either one suffices."""
    both = (
        expect_above("time slowed by hardware", signals.hardware_slowdown, limits.hardware_slowdown),
        expect_above("time slowed for heat", signals.heat_slowdown, limits.heat_slowdown),
    )
    yield max(both, key=lambda condition: condition.margin)


def list_imbalance_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    both = [
        expect_above("spread of activity across GPUs", signals.spread if signals.gpus > 1 else 0.0, limits.imbalance)
    ]
    if (signals.engine or 0.0) > limits.busy_engine:  # idle GPUs differ in power by what is loaded
        both.append(expect_below("lowest power of a GPU, of the median", signals.least_power, limits.straggler_power))
    yield max(both, key=lambda condition: condition.margin)


def list_communication_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    """Yield the conditions of communication. A GPU that is alone exchanges nothing with others."""
    yield expect_above("engine", signals.engine, limits.busy_engine)
    yield expect_below("tensor cores", signals.tensor, limits.communication_tensor)
    yield expect_below("memory", signals.dram, limits.communication_dram)
    if signals.gpus == 1 and signals.nvlink is None:
        yield expect_above("GPUs", 1.0, 1.0)
    else:
        yield expect_above("NVLink", signals.nvlink, limits.communication_nvlink)


def list_pcie_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_above("PCIe", signals.pcie, limits.pcie)
    yield expect_below("SMs", signals.sm, limits.pcie_sm)


def list_input_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    """Yield the conditions of a resting engine that is not idle. It also rests between kernels that are started one by
    one, but these do not fill the GPU. The engine's course is not asked: a grid finer than the steps shows a sawtooth,
    a coarser one none."""
    yield expect_below("engine", signals.engine, limits.fed_engine)
    if signals.pcie is not None:
        yield expect_below("PCIe", signals.pcie, limits.pcie)
    yield expect_above(FILL, signals.fill, limits.launch_fill)


def list_tensor_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_above("tensor cores", signals.tensor, limits.tensor)
    yield expect_above("SMs", signals.sm, limits.tensor_sm)


def list_memory_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_above("memory", signals.dram, limits.dram)
    yield expect_below("tensor cores", signals.tensor, limits.dram_tensor)


def list_compute_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_above("busiest of FP64, FP32 and FP16", signals.pipe, limits.pipe)
    yield expect_below("memory", signals.dram, limits.dram)


def list_launch_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_above("engine", signals.engine, limits.launch_engine)
    yield expect_below(FILL, signals.fill, limits.launch_fill)


def list_latency_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_above("SMs", signals.sm, limits.waiting_sm)
    yield expect_below("tensor cores", signals.tensor, limits.waiting_pipe)
    yield expect_below("memory", signals.dram, limits.waiting_pipe)
    if signals.pipe is not None:
        yield expect_below("busiest of FP64, FP32 and FP16", signals.pipe, limits.waiting_pipe)


def list_moderate_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_above("tensor cores", signals.tensor, limits.some_tensor)
    yield expect_above("SMs", signals.sm, limits.some_tensor_sm)


CLASSES = (
    Class(
        "idle",
        "The GPUs do nothing.",
        20,
        list_idle_conditions,
        ("Release them, or scale to zero.", "Share one GPU among several such pods (time-slicing, MPS, MIG)."),
        "Fewer GPUs of this workload in gpustack gpu top, or an engine above 0.05.",
        support=lambda s, at: (expect_below("power, of the limit", s.power, 0.25),),
    ),
    Class(
        "throttled",
        "The GPUs are slowed down by heat or by an external signal.",
        10,
        list_throttle_conditions,
        ("Look at cooling, power supply and temperatures: gpustack gpu top, column SLOWED BY.",),
        "The time slowed by heat and hardware falls to 0, and the SM clock rises.",
        support=lambda s, at: (expect_below("SM clock, of the highest", s.clock, 0.9),),
        objections=lambda s, at: (expect_above("SM clock, of the highest", s.clock, 0.97),),
    ),
    Class(
        "imbalanced",
        "The GPUs of the job do not work equally: the others wait for some of them.",
        20,
        list_imbalance_conditions,
        ("Compare clocks, PCIe and input of the slowest GPU.", "Pipeline stages: even them out."),
        "The spread across GPUs falls under 0.1, and tensor activity of the median rises.",
    ),
    Class(
        "communication-bound",
        "The GPUs exchange data more than they compute.",
        30,
        list_communication_conditions,
        ("Overlap communication and computation; larger buckets.", "Check that NCCL uses NVLink: NCCL_DEBUG=INFO."),
        "NVLink's share falls, and tensor activity and power rise.",
        support=lambda s, at: (expect_below("power, of the limit", s.power, 0.65),),
    ),
    Class(
        "pcie-bound",
        "The link between host and GPU is what the work waits for.",
        20,
        list_pcie_conditions,
        ("Pin host memory, prefetch, and copy in larger pieces.", "Check the link: gpustack gpu list."),
        "PCIe's share falls, and SM activity rises.",
    ),
    Class(
        "input-bound",
        "The GPUs wait for work: data loading, preprocessing, or requests that do not come.",
        30,
        list_input_conditions,
        (
            "More loader workers, prefetching, a local store.",
            "Decode and augment on the GPU.",
            "A service: fewer replicas.",
        ),
        "Engine and tensor activity rise; a service does the same with fewer GPUs.",
        objections=lambda s, at: (expect_below(FILL, s.fill, at.whole_fill),),
    ),
    Class(
        "tensor-bound",
        "The tensor cores work near what they can reach.",
        20,
        list_tensor_conditions,
        ("This is what the GPU is for. FP8 or sparsity, where the model allows it; else a larger GPU.",),
        "More steps a second at the same tensor activity: counters do not show it.",
        support=lambda s, at: (expect_above("power, of the limit", s.power, 0.85),),
    ),
    Class(
        "memory-bound",
        "Memory bandwidth is what the work waits for.",
        20,
        list_memory_conditions,
        ("Larger batches, fused kernels, quantised weights.", "Language models: a paged, quantised KV cache."),
        "Tensor activity rises, and memory stays or falls.",
        support=lambda s, at: (expect_above("SMs", s.sm, 0.5),),
        objections=lambda s, at: (expect_above("tensor cores", s.tensor, 0.35),),
    ),
    Class(
        "compute-bound",
        "The ordinary arithmetic units work near what they can reach, not the tensor cores.",
        20,
        list_compute_conditions,
        ("In deep learning: turn on TF32 or mixed precision.", "In simulations this is as intended."),
        "Tensor activity rises, and FP32 falls.",
        support=lambda s, at: (expect_below("tensor cores", s.tensor, 0.05),),
    ),
    Class(
        "launch-bound",
        "Kernels are too small for the GPU, or start too late.",
        20,
        list_launch_conditions,
        ("Larger batches, fused kernels, CUDA graphs, torch.compile.", "Several processes on one GPU (MPS), or MIG."),
        "SM activity of the engine's rises.",
        support=lambda s, at: (expect_below("memory", s.dram, 0.3), expect_below("tensor cores", s.tensor, 0.1)),
    ),
    Class(
        "latency-bound",
        "The SMs have work and wait inside of it: for memory, for synchronisation, or in a collective.",
        30,
        list_latency_conditions,
        ("Nsight Compute on one kernel shows what its warps wait for.", "With several GPUs: check collectives first."),
        "Tensor or memory activity rises at the same SM activity.",
        support=lambda s, at: (expect_below("occupancy", s.occupancy, 0.3),),
    ),
    Class(
        "moderate-tensor",
        "The tensor cores work for a part of the time; nothing else is at its limit.",
        20,
        list_moderate_conditions,
        ("Profile a few steps (PyTorch profiler, Nsight Systems): which part of a step is without tensor work?",),
        "Tensor activity rises.",
    ),
)
