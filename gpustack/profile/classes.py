"""The classes that a workload can be of: the conditions of each, in the order in which they are tried.

The order matters: memory against pipes is asked before how many SMs are resident, since reading a language model's
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
    """`what` must be above (or below) `threshold`. Without a value it does not hold, and is not refuted."""

    what: str
    value: float | None
    above: bool
    threshold: float

    @property
    def holds(self) -> bool:
        return self.value is not None and (self.value > self.threshold) is self.above

    @property
    def margin(self) -> float:
        """How far beyond the threshold, as a share of it; negative before it."""
        if self.value is None:
            return -1.0
        distance = (self.value - self.threshold) / self.threshold
        return distance if self.above else -distance

    @property
    def refuted(self) -> str:
        """Why it does not hold."""
        return self.text(f"not {self.side}")

    @property
    def side(self) -> str:
        return "above" if self.above else "below"

    def text(self, side: str) -> str:
        value = "unknown" if self.value is None else f"{self.value:.2f}"
        return f"{self.what} {value}, {side} {self.threshold:g}"

    def __str__(self) -> str:
        return self.text(self.side)


@dataclass(frozen=True)
class Class:
    """`conditions` all hold. `support` makes it surer, `against` less sure. `advice` is what to try,
    `helped` what a later profile shows if that helped."""

    id: Id
    title: str
    samples: int
    conditions: Callable[[Signals, Limits], Iterable[Condition]]
    advice: tuple[str, ...]
    helped: str
    support: Callable[[Signals, Limits], Iterable[Condition]] = lambda signals, limits: ()
    against: Callable[[Signals, Limits], Iterable[Condition]] = lambda signals, limits: ()


def over(what: str, value: float | None, threshold: float) -> Condition:
    return Condition(what, value, True, threshold)  # noqa: FBT003


def under(what: str, value: float | None, threshold: float) -> Condition:
    return Condition(what, value, False, threshold)  # noqa: FBT003


def idle(s: Signals, at: Limits) -> Iterable[Condition]:
    yield under("engine, 95th percentile", s.engine_high, at.idle_engine)
    yield under("SMs, 95th percentile", s.sm_high, at.idle_sm)
    yield under("memory, 95th percentile", s.dram_high, at.idle_dram)
    if s.pcie is not None:
        yield under("PCIe", s.pcie, at.idle_pcie)


def throttled(s: Signals, at: Limits) -> Iterable[Condition]:
    """Either: the one that is further beyond its threshold."""
    both = (
        over("time slowed by hardware", s.hardware_slowdown, at.hardware_slowdown),
        over("time slowed for heat", s.heat_slowdown, at.heat_slowdown),
    )
    yield max(both, key=lambda one: one.margin)


def imbalanced(s: Signals, at: Limits) -> Iterable[Condition]:
    both = [over("spread of activity across GPUs", s.spread if s.gpus > 1 else 0.0, at.imbalance)]
    if (s.engine or 0.0) > at.busy_engine:  # idle GPUs differ in power by what is loaded
        both.append(under("lowest power of a GPU, of the median", s.least_power, at.straggler_power))
    yield max(both, key=lambda one: one.margin)


def communication(s: Signals, at: Limits) -> Iterable[Condition]:
    """A GPU that is alone exchanges nothing with others."""
    yield over("engine", s.engine, at.busy_engine)
    yield under("tensor cores", s.tensor, at.communication_tensor)
    yield under("memory", s.dram, at.communication_dram)
    if s.gpus == 1 and s.nvlink is None:
        yield over("GPUs", 1.0, 1.0)
    else:
        yield over("NVLink", s.nvlink, at.communication_nvlink)


def pcie(s: Signals, at: Limits) -> Iterable[Condition]:
    yield over("PCIe", s.pcie, at.pcie)
    yield under("SMs", s.sm, at.pcie_sm)


def fed(s: Signals, at: Limits) -> Iterable[Condition]:
    """Not idle, and the engine rests. Between kernels that are started one by one it rests, too: these do not fill the
    GPU. Nothing is asked of the engine's course: a grid finer than the steps shows a sawtooth, a coarser one none."""
    yield under("engine", s.engine, at.fed_engine)
    if s.pcie is not None:
        yield under("PCIe", s.pcie, at.pcie)
    yield over(FILL, s.fill, at.launch_fill)


def tensor(s: Signals, at: Limits) -> Iterable[Condition]:
    yield over("tensor cores", s.tensor, at.tensor)
    yield over("SMs", s.sm, at.tensor_sm)


def memory(s: Signals, at: Limits) -> Iterable[Condition]:
    yield over("memory", s.dram, at.dram)
    yield under("tensor cores", s.tensor, at.dram_tensor)


def compute(s: Signals, at: Limits) -> Iterable[Condition]:
    yield over("busiest of FP64, FP32 and FP16", s.pipe, at.pipe)
    yield under("memory", s.dram, at.dram)


def launch(s: Signals, at: Limits) -> Iterable[Condition]:
    yield over("engine", s.engine, at.launch_engine)
    yield under(FILL, s.fill, at.launch_fill)


def latency(s: Signals, at: Limits) -> Iterable[Condition]:
    yield over("SMs", s.sm, at.waiting_sm)
    yield under("tensor cores", s.tensor, at.waiting_pipe)
    yield under("memory", s.dram, at.waiting_pipe)
    if s.pipe is not None:
        yield under("busiest of FP64, FP32 and FP16", s.pipe, at.waiting_pipe)


def some_tensor(s: Signals, at: Limits) -> Iterable[Condition]:
    yield over("tensor cores", s.tensor, at.some_tensor)
    yield over("SMs", s.sm, at.some_tensor_sm)


CLASSES = (
    Class(
        "idle",
        "The GPUs do nothing.",
        20,
        idle,
        ("Release them, or scale to zero.", "Share one GPU among several such pods (time-slicing, MPS, MIG)."),
        "Fewer GPUs of this workload in gpustack gpu top, or an engine above 0.05.",
        support=lambda s, at: (under("power, of the limit", s.power, 0.25),),
    ),
    Class(
        "throttled",
        "The GPUs are slowed down by heat or by an external signal.",
        10,
        throttled,
        ("Look at cooling, power supply and temperatures: gpustack gpu top, column SLOWED BY.",),
        "The time slowed by heat and hardware falls to 0, and the SM clock rises.",
        support=lambda s, at: (under("SM clock, of the highest", s.clock, 0.9),),
        against=lambda s, at: (over("SM clock, of the highest", s.clock, 0.97),),
    ),
    Class(
        "imbalanced",
        "The GPUs of the job do not work equally: the others wait for some of them.",
        20,
        imbalanced,
        ("Compare clocks, PCIe and input of the slowest GPU.", "Pipeline stages: even them out."),
        "The spread across GPUs falls under 0.1, and tensor activity of the median rises.",
    ),
    Class(
        "communication-bound",
        "The GPUs exchange data more than they compute.",
        30,
        communication,
        ("Overlap communication and computation; larger buckets.", "Check that NCCL uses NVLink: NCCL_DEBUG=INFO."),
        "NVLink's share falls, and tensor activity and power rise.",
        support=lambda s, at: (under("power, of the limit", s.power, 0.65),),
    ),
    Class(
        "pcie-bound",
        "The link between host and GPU is what the work waits for.",
        20,
        pcie,
        ("Pin host memory, prefetch, and copy in larger pieces.", "Check the link: gpustack gpu list."),
        "PCIe's share falls, and SM activity rises.",
    ),
    Class(
        "input-bound",
        "The GPUs wait for work: data loading, preprocessing, or requests that do not come.",
        30,
        fed,
        (
            "More loader workers, prefetching, a local store.",
            "Decode and augment on the GPU.",
            "A service: fewer replicas.",
        ),
        "Engine and tensor activity rise; a service does the same with fewer GPUs.",
        against=lambda s, at: (under(FILL, s.fill, at.whole_fill),),
    ),
    Class(
        "tensor-bound",
        "The tensor cores work near what they can reach.",
        20,
        tensor,
        ("This is what the GPU is for. FP8 or sparsity, where the model allows it; else a larger GPU.",),
        "More steps a second at the same tensor activity: counters do not show it.",
        support=lambda s, at: (over("power, of the limit", s.power, 0.85),),
    ),
    Class(
        "memory-bound",
        "Memory bandwidth is what the work waits for.",
        20,
        memory,
        ("Larger batches, fused kernels, quantised weights.", "Language models: a paged, quantised KV cache."),
        "Tensor activity rises, and memory stays or falls.",
        support=lambda s, at: (over("SMs", s.sm, 0.5),),
        against=lambda s, at: (over("tensor cores", s.tensor, 0.35),),
    ),
    Class(
        "compute-bound",
        "The ordinary arithmetic units work near what they can reach, not the tensor cores.",
        20,
        compute,
        ("In deep learning: turn on TF32 or mixed precision.", "In simulations this is as intended."),
        "Tensor activity rises, and FP32 falls.",
        support=lambda s, at: (under("tensor cores", s.tensor, 0.05),),
    ),
    Class(
        "launch-bound",
        "Kernels are too small for the GPU, or start too late.",
        20,
        launch,
        ("Larger batches, fused kernels, CUDA graphs, torch.compile.", "Several processes on one GPU (MPS), or MIG."),
        "SM activity of the engine's rises.",
        support=lambda s, at: (under("memory", s.dram, 0.3), under("tensor cores", s.tensor, 0.1)),
    ),
    Class(
        "latency-bound",
        "The SMs have work and wait inside of it: for memory, for synchronisation, or in a collective.",
        30,
        latency,
        ("Nsight Compute on one kernel shows what its warps wait for.", "With several GPUs: check collectives first."),
        "Tensor or memory activity rises at the same SM activity.",
        support=lambda s, at: (under("occupancy", s.occupancy, 0.3),),
    ),
    Class(
        "moderate-tensor",
        "The tensor cores work for a part of the time; nothing else is at its limit.",
        20,
        some_tensor,
        ("Profile a few steps (PyTorch profiler, Nsight Systems): which part of a step is without tensor work?",),
        "Tensor activity rises.",
    ),
)
