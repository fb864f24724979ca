"""Windows of made workloads, from mechanisms: what a step waits for, and what its kernels do. It knows no threshold of
gpustack.profile, and imports none.

A workload is a cycle of phases with durations. Each phase has activities of its own; they are integrated over sampling
intervals as a GPU's counters do it, with noise, a warm-up, and now and then a gap.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpustack.metrics.gpus import Gpu
from gpustack.profile.analysis import Analysis, analyze
from gpustack.profile.compare import Comparison, compare_profiles
from gpustack.profile.file import SCHEMA, Profile
from gpustack.profile.gate import GateResult, evaluate_gate, parse_gates
from gpustack.profile.window import GpuWindow, Job

PCIE, NVLINK = 63e9, 450e9  # bytes a second, one way: PCIe 5 x16, 18 links of NVLink 4
LIMIT, CLOCK, MEMORY = 700.0, 1.98e9, 80 * 2.0**30
SHARES = ("engine", "sm", "occupancy", "tensor", "dram", "fp64", "fp32", "fp16")
LINKS = ("pcie_receive", "pcie_transmit", "nvlink_receive", "nvlink_transmit")


@dataclass(frozen=True)
class Phase:
    """`seconds` of a step; shares of the time of the phase, links as a share of their peak, power as a share of its
    limit."""

    seconds: float
    power: float
    levels: Mapping[str, float] = field(default_factory=dict)


def wait(seconds: float, power: float = 0.17) -> Phase:
    return Phase(seconds, power)


def build_phase(seconds: float, power: float, **levels: float) -> Phase:
    return Phase(seconds, power, {"engine": 0.99, **levels})


def build_gemm(rng: random.Random, seconds: float) -> Phase:
    """Large matrix products."""
    tensor = rng.uniform(0.6, 0.88)
    return build_phase(seconds, rng.uniform(0.85, 1.0), sm=rng.uniform(0.78, 0.97), occupancy=rng.uniform(0.1, 0.3),
                   tensor=tensor, dram=rng.uniform(0.2, 0.45), fp32=rng.uniform(0.02, 0.1))  # fmt: skip


def build_streaming(rng: random.Random, seconds: float) -> Phase:
    """Elementwise kernels, normalisations, reading weights for few tokens."""
    return build_phase(seconds, rng.uniform(0.55, 0.8), sm=rng.uniform(0.6, 0.97), occupancy=rng.uniform(0.4, 0.8),
                   tensor=rng.uniform(0.0, 0.1), dram=rng.uniform(0.64, 0.9), fp32=rng.uniform(0.05, 0.2))  # fmt: skip


def build_arithmetic(rng: random.Random, seconds: float) -> Phase:
    """FP32 or FP64 without tensor cores."""
    kind = rng.choice(["fp32", "fp64"])
    return build_phase(seconds, rng.uniform(0.7, 0.95), sm=rng.uniform(0.75, 0.97), occupancy=rng.uniform(0.3, 0.7),
                   dram=rng.uniform(0.1, 0.4), **{kind: rng.uniform(0.55, 0.85)})  # fmt: skip


def build_small_grids(rng: random.Random, seconds: float) -> Phase:
    """Many kernels with grids for a part of the SMs; the engine rests between them where they are started one by one
    (tests/recorded/h100, tiny-kernels)."""
    engine = rng.uniform(0.28, 0.99)
    return build_phase(seconds, rng.uniform(0.25, 0.4), engine=engine, sm=engine * rng.uniform(0.0, 0.35),
                   occupancy=rng.uniform(0.0, 0.15), tensor=rng.uniform(0.0, 0.05), dram=rng.uniform(0.0, 0.15),
                   fp32=0.03)  # fmt: skip


def build_stalled_warps(rng: random.Random, seconds: float) -> Phase:
    """Warps are resident and wait: chains of dependent loads, atomics, barriers."""
    return build_phase(seconds, rng.uniform(0.3, 0.5), sm=rng.uniform(0.82, 0.98), occupancy=rng.uniform(0.1, 0.4),
                   tensor=rng.uniform(0.0, 0.05), dram=rng.uniform(0.03, 0.15), fp32=0.06)  # fmt: skip


def build_collective(rng: random.Random, seconds: float) -> Phase:
    """An all-reduce that nothing overlaps: few SMs, the links full."""
    nvlink = rng.uniform(0.6, 0.9)
    return build_phase(seconds, rng.uniform(0.35, 0.5), sm=rng.uniform(0.12, 0.5), occupancy=rng.uniform(0.05, 0.2),
                   tensor=0.0, dram=rng.uniform(0.1, 0.25), nvlink_receive=nvlink, nvlink_transmit=nvlink)  # fmt: skip


def build_host_copies(rng: random.Random, seconds: float) -> Phase:
    """Offload of weights or optimiser state, or input that comes over PCIe; copy engines are no compute engine."""
    direction = rng.choice(["pcie_receive", "pcie_transmit"])
    return Phase(
        seconds,
        rng.uniform(0.2, 0.3),
        {"engine": rng.uniform(0.0, 0.3), "sm": rng.uniform(0.0, 0.1), direction: rng.uniform(0.75, 0.95)},
    )


Step = Callable[[random.Random], list[Phase]]


def draw_loader_wait(rng: random.Random) -> list[Phase]:
    share = rng.uniform(0.45, 0.75)
    return [wait(share), build_gemm(rng, (1 - share) * 0.7), build_streaming(rng, (1 - share) * 0.3)]


def compute(rng: random.Random) -> list[Phase]:
    share = rng.uniform(0.82, 0.97)
    return [build_gemm(rng, share), build_streaming(rng, 1 - share)]


def draw_bandwidth(rng: random.Random) -> list[Phase]:
    share = rng.uniform(0.88, 1.0)
    return [build_streaming(rng, share), build_gemm(rng, 1 - share)]


def draw_plain_arithmetic(rng: random.Random) -> list[Phase]:
    share = rng.uniform(0.8, 1.0)
    return [build_arithmetic(rng, share), build_streaming(rng, 1 - share)]


def draw_small_kernels(rng: random.Random) -> list[Phase]:
    share = rng.uniform(0.0, 0.2)
    return [build_small_grids(rng, 1 - share), wait(share)]


def draw_stalls(rng: random.Random) -> list[Phase]:
    share = rng.uniform(0.9, 1.0)
    return [build_stalled_warps(rng, share), build_streaming(rng, 1 - share)]


def draw_all_reduce(rng: random.Random) -> list[Phase]:
    share = rng.uniform(0.7, 0.9)
    return [build_collective(rng, share), build_gemm(rng, 1 - share)]


def draw_offload(rng: random.Random) -> list[Phase]:
    share = rng.uniform(0.7, 0.9)
    return [build_host_copies(rng, share), build_gemm(rng, (1 - share) / 2), build_streaming(rng, (1 - share) / 2)]


def draw_bursts(rng: random.Random) -> list[Phase]:
    """A service: bursts of requests, and nothing between them."""
    share = rng.uniform(0.25, 0.55)
    return [build_streaming(rng, share * 0.8), build_gemm(rng, share * 0.2), wait(1 - share, 0.2)]


def draw_idleness(rng: random.Random) -> list[Phase]:
    return [wait(1.0, rng.uniform(0.1, 0.17))]


@dataclass(frozen=True)
class Mechanism:
    """`truth` is what a person who wrote the workload would call it."""

    truth: str
    step: Step
    gpus: tuple[int, ...] = (1, 2, 4, 8)
    seconds: tuple[float, float] = (0.15, 8.0)
    straggler: bool = False
    heat: bool = False


MECHANISMS = {
    "loader wait": Mechanism("input-bound", draw_loader_wait),
    "compute": Mechanism("tensor-bound", compute),
    "memory bandwidth": Mechanism("memory-bound", draw_bandwidth),
    "plain arithmetic": Mechanism("compute-bound", draw_plain_arithmetic),
    "small kernels": Mechanism("launch-bound", draw_small_kernels),
    "stalls": Mechanism("latency-bound", draw_stalls),
    "all-reduce": Mechanism("communication-bound", draw_all_reduce, gpus=(2, 4, 8)),
    "offload": Mechanism("pcie-bound", draw_offload),
    "queueing": Mechanism("input-bound", draw_bursts, seconds=(3.0, 12.0)),
    "nothing": Mechanism("idle", draw_idleness),
    "straggler": Mechanism("imbalanced", compute, gpus=(4, 8), straggler=True),
    "heat": Mechanism("throttled", compute, heat=True),
}


def make_job(name: str, rng: random.Random) -> Job:
    mechanism = MECHANISMS[name]
    period = rng.choice([1.0, 5.0, 10.0, 30.0])
    samples = rng.choice([6, 20, 45, 90, 180])
    if name == "nothing":
        samples = max(samples, int(2000 / period) + 1)
    phases = mechanism.step(rng)
    length = rng.uniform(*mechanism.seconds)
    warm_up = rng.choice([0.0, 0.0, rng.uniform(0.02, 0.1)]) if name != "nothing" else 0.0
    count = rng.choice(mechanism.gpus)
    slow = rng.randrange(count) if mechanism.straggler else -1
    windows = []
    for index in range(count):
        cycle = [Phase(phase.seconds * length, phase.power, phase.levels) for phase in phases]
        if mechanism.straggler and index != slow:
            # The others wait for it, spinning in a collective.
            waiting = rng.uniform(0.45, 0.7) * length
            cycle = [*cycle, build_phase(waiting, 0.3, sm=0.2, tensor=0.0, dram=0.02)]
        windows.append(draw_window(f"GPU-{index}", cycle, period, samples, warm_up, rng, heat=mechanism.heat))
    return Job(tuple(windows))


def draw_window(
    uuid: str, cycle: list[Phase], period: float, samples: int, warm_up: float, rng: random.Random, *, heat: bool
) -> GpuWindow:
    tracks: dict[str, list[float]] = {
        name: [] for name in (*SHARES, *LINKS, "power", "power_limit", "clock", "clock_max")
    }
    clock = CLOCK * (rng.uniform(0.5, 0.75) if heat else rng.uniform(0.93, 1.0))
    place = rng.uniform(0, sum(phase.seconds for phase in cycle))
    for number in range(samples):
        jitter = [Phase(phase.seconds * rng.lognormvariate(0, 0.08), phase.power, phase.levels) for phase in cycle]
        mean = [wait(1.0)] if number < warm_up * samples else jitter
        levels, power, place = compute_levels(mean, period, place)
        for name in (*SHARES, *LINKS):
            peak = PCIE if name.startswith("pcie") else NVLINK if name.startswith("nvlink") else 1.0
            value = levels.get(name, 0.0) * rng.gauss(1, 0.02) + (abs(rng.gauss(0, 0.003)) if peak == 1.0 else 0.0)
            tracks[name].append(max(0.0, value) * peak)
        for name, value in (
            ("power", power * LIMIT * rng.gauss(1, 0.02)),
            ("power_limit", LIMIT),
            ("clock", clock),
            ("clock_max", CLOCK),
        ):
            tracks[name].append(value)
    return GpuWindow(
        Gpu("gpu1", uuid[-1], uuid),
        seconds=samples * period,
        interval=period,
        tracks=tracks,
        throttle_shares={"hw_thermal": rng.uniform(0.05, 0.5)} if heat else {"power_cap": rng.uniform(0, 0.5)},
        pcie_peak=PCIE,
        nvlink_peak=NVLINK,
        memory_total=MEMORY,
        pods=("team-a/train-0",),
    )


def compute_levels(cycle: list[Phase], seconds: float, place: float) -> tuple[dict[str, float], float, float]:
    """Mean levels and power of the next `seconds`, and where in the cycle they end."""
    length = sum(phase.seconds for phase in cycle)
    place %= length
    levels: dict[str, float] = {}
    power, remaining_seconds = 0.0, seconds
    turns = int(remaining_seconds // length)
    for phase in cycle if turns else ():
        weight = turns * phase.seconds / seconds
        power += weight * phase.power
        for name, level in phase.levels.items():
            levels[name] = levels.get(name, 0.0) + weight * level
    remaining_seconds -= turns * length
    begin = 0.0
    for phase in [*cycle, *cycle]:
        end = begin + phase.seconds
        overlap = min(end, place + remaining_seconds) - max(begin, place)
        if overlap > 0:
            weight = overlap / seconds
            power += weight * phase.power
            for name, level in phase.levels.items():
                levels[name] = levels.get(name, 0.0) + weight * level
        begin = end
    return levels, power, place + remaining_seconds


def compare_runs() -> tuple[Comparison, tuple[GateResult, ...]]:
    """Compare a run with one whose loader is faster, with two gates that must not pass."""
    slow, fast = (
        Profile(SCHEMA, label, "team-a/train-0", 0.0, 1800.0, make_job(name, random.Random(5)))
        for label, name in (("run1", "loader wait"), ("run2", "compute"))
    )
    comparison = compare_profiles(slow, fast)
    return comparison, tuple(evaluate_gate(comparison, gate) for gate in parse_gates(["tensor<-5%", "power>10%"]))


def analyze_run() -> Analysis:
    """Analyze two GPUs that wait for their loader."""
    job = make_job("loader wait", random.Random(5))
    return analyze(Profile(SCHEMA, "run1", "team-a/train-0", 0.0, 1800.0, job))
