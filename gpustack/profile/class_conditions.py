"""Conditions of the classes of workloads, and those that exclude a class which looks alike.

Sources of thresholds are in limits.py. A condition without a value is open: it neither holds nor fails.
"""

from collections.abc import Callable, Iterable, Mapping

from gpustack.profile.class_ids import Id
from gpustack.profile.condition import Condition, choose_all, choose_any, expect_above, expect_below
from gpustack.profile.limits import Limits
from gpustack.profile.signals import Signals
from gpustack.vocabulary.fields import DEV, PROF

Conditions = Callable[[Signals, Limits], Iterable[Condition]]
Exclusions = Callable[[Signals, Limits], Mapping[Id, Condition]]

FILL = "SMs while the engine works"
PIPES = "busiest of FP64, FP32 and FP16"
# What would measure a value that is missing.
REASONS = f"{DEV}CLOCKS_EVENT_REASON_*_NS"
PCIE = f"{PROF}PCIE_*_BYTES, {DEV}PCIE_LINK_GEN and {DEV}PCIE_LINK_WIDTH"
NVLINK = f"{PROF}NVLINK_*_BYTES of a model with a known peak"
POWER = f"{DEV}POWER_USAGE and {DEV}ENFORCED_POWER_LIMIT"
CLOCK = f"{DEV}SM_CLOCK and {DEV}MAX_SM_CLOCK"
DEFAULT_LIMIT = f"{DEV}POWER_MGMT_LIMIT_DEF and {DEV}ENFORCED_POWER_LIMIT"
FP32 = f"{PROF}PIPE_FP32_ACTIVE"
NETWORK = "NCCL_DEBUG=INFO, a trace, or node-exporter's bytes of the network cards"


def expect_tensor_above(signals: Signals, threshold: float) -> Condition:
    return expect_above("tensor cores", signals.tensor, threshold, signals.format_mean("tensor"))


def expect_tensor_below(signals: Signals, threshold: float) -> Condition:
    return expect_below("tensor cores", signals.tensor, threshold, signals.format_mean("tensor"))


def expect_memory_above(signals: Signals, threshold: float) -> Condition:
    return expect_above("memory", signals.dram, threshold, signals.format_mean("dram"))


def expect_memory_below(signals: Signals, threshold: float) -> Condition:
    return expect_below("memory", signals.dram, threshold, signals.format_mean("dram"))


def expect_pipes_below(signals: Signals, threshold: float) -> Condition:
    return expect_below(PIPES, signals.pipe, threshold, source=FP32)


def expect_pcie_below(signals: Signals, threshold: float) -> Condition:
    return expect_below("PCIe", signals.pcie, threshold, signals.format_mean("pcie"), source=PCIE)


def expect_power_above(signals: Signals, threshold: float) -> Condition:
    return expect_above("power", signals.power, threshold, signals.format_mean("power"), source=POWER)


def expect_power_below(signals: Signals, threshold: float) -> Condition:
    return expect_below("power", signals.power, threshold, signals.format_mean("power"), source=POWER)


def expect_clock_above(signals: Signals, threshold: float) -> Condition:
    return expect_above("SM clock", signals.clock, threshold, signals.format_mean("clock"), source=CLOCK)


def expect_clock_below(signals: Signals, threshold: float) -> Condition:
    return expect_below("SM clock", signals.clock, threshold, signals.format_mean("clock"), source=CLOCK)


def expect_several_gpus(signals: Signals) -> Condition:
    return expect_above("GPUs", float(signals.gpus), 1.5, unit="count")


def expect_network_above(signals: Signals, limits: Limits) -> Condition:
    return expect_above("network cards of the hosts", signals.network, limits.network, source=NETWORK)


def list_idle_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_below("GPUs that work", float(signals.gpus - signals.unused_count), 0.5, unit="count")
    yield expect_below("engine, 95th percentile", signals.engine_high, limits.idle_engine)
    yield expect_below("SMs, 95th percentile", signals.sm_high, limits.idle_sm)
    yield expect_below("memory, 95th percentile", signals.dram_high, limits.idle_dram)
    if signals.pcie is not None:
        yield expect_pcie_below(signals, limits.idle_pcie)


def list_idle_exclusions(signals: Signals, limits: Limits) -> Mapping[Id, Condition]:
    duration = expect_above("time measured", signals.seconds, limits.idle_seconds, unit="seconds")
    pcie = expect_pcie_below(signals, limits.idle_pcie)
    utilisation = expect_below("utilisation", signals.utilisation, limits.idle_activity, source=f"{DEV}GPU_UTIL")
    activity = choose_any(utilisation, expect_power_below(signals, limits.idle_activity))
    return {"pause": duration, "pcie-bound": pcie, "not-measured": activity}


def list_partly_idle_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_several_gpus(signals)
    yield expect_above("GPUs without any work", float(signals.unused_count), 0.5, unit="count")


def list_partly_idle_exclusions(signals: Signals, limits: Limits) -> Mapping[Id, Condition]:
    source = f"{DEV}GPU_UTIL, or {POWER}"
    name, activity = "utilisation or power of these", signals.unused_activity
    return {"not-measured": expect_below(name, activity, limits.idle_activity, source=source)}


def list_throttle_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    """Yield the condition that is further beyond its threshold: either one suffices."""
    hardware, heat = signals.hardware_slowdown, signals.heat_slowdown
    yield choose_any(
        expect_above("time slowed by hardware", hardware, limits.hardware_slowdown, source=REASONS),
        expect_above("time slowed for heat", heat, limits.heat_slowdown, source=REASONS),
    )


def list_full_clock(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_clock_above(signals, limits.full_clock)


def list_unslowed_signs(signals: Signals, limits: Limits) -> Iterable[Condition]:
    """List what excludes heat and external signals: they lower the clock, and the power with it."""
    yield expect_clock_above(signals, limits.full_clock)
    yield expect_power_above(signals, limits.full_power)


def list_power_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    level = signals.format_mean("power_limit")
    yield expect_above("time at the power limit", signals.power_cap, limits.power_cap, source=REASONS)
    yield expect_below("power limit", signals.power_limit, limits.low_limit, level, source=DEFAULT_LIMIT)
    yield expect_power_above(signals, limits.power_near_limit)


def list_imbalance_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    """Yield the sign of imbalance that is furthest beyond its threshold. Idle GPUs differ in power and clock by what is
    loaded."""
    yield expect_several_gpus(signals)
    signs = [expect_above("spread of activity across GPUs", signals.spread, limits.imbalance)]
    if signals.engine is not None and signals.engine > limits.busy_engine:
        for name, value, threshold in (
            ("power", signals.least_power, limits.straggler_power),
            ("clock", signals.least_clock, limits.straggler_clock),
        ):
            signs += [] if value is None else [expect_below(f"lowest {name} of a GPU, of the median", value, threshold)]
    yield choose_any(*signs)


def list_turn_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    """Yield the conditions of GPUs that work in turn: always as many of them."""
    yield expect_several_gpus(signals)
    turns = signals.turns
    mixed_share, evenness = (turns.mixed_share, turns.evenness) if turns else (None, None)
    yield expect_above("moments at which only a part of the GPUs works", mixed_share, limits.mixed_share)
    yield expect_below("changes of their number, of chance", evenness, limits.evenness)


def list_waiting_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    """Yield the conditions of kernels that are resident and do nothing: no arithmetic, no memory, little power."""
    yield expect_above("engine", signals.engine, limits.waiting_engine)
    yield expect_below("SMs", signals.sm, limits.waiting_fill)
    yield expect_tensor_below(signals, limits.waiting_activity)
    yield expect_memory_below(signals, limits.waiting_activity)
    yield expect_pipes_below(signals, limits.waiting_activity)
    yield expect_power_below(signals, limits.waiting_power)


def list_waiting_exclusions(signals: Signals, limits: Limits) -> Mapping[Id, Condition]:
    quiet_links = expect_below("links", signals.links, limits.still_links, source=f"{PCIE}; {NVLINK}")
    return {"launch-bound": expect_several_gpus(signals), "unseen-communication": quiet_links}


def list_communication_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    """Yield the conditions of communication. A GPU that is alone exchanges nothing with others."""
    yield expect_several_gpus(signals)
    yield expect_above("engine", signals.engine, limits.busy_engine)
    yield expect_tensor_below(signals, limits.communication_tensor)
    yield expect_memory_below(signals, limits.communication_dram)
    level = signals.format_mean("nvlink")
    yield expect_above("NVLink", signals.nvlink, limits.communication_nvlink, level, source=NVLINK)


def list_network_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    """Yield the conditions of GPUs whose kernels wait while the network is busy, or move data over PCIe both ways.
    Copies to the host need no engine, and a GPU that is alone exchanges nothing over PCIe."""
    yield expect_above("engine", signals.engine, limits.busy_engine)
    exchange = expect_above("PCIe in both directions", signals.exchange, limits.exchange, source=PCIE)
    network = expect_network_above(signals, limits)
    yield network if network.holds else choose_all(expect_several_gpus(signals), exchange)
    yield expect_below("SMs", signals.sm, limits.pcie_sm)


def list_network_exclusions(signals: Signals, limits: Limits) -> Mapping[Id, Condition]:
    copies = expect_above("engine", signals.engine, limits.busy_engine)
    return {"communication-bound": expect_network_above(signals, limits), "pcie-bound": copies}


def list_pcie_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_above("PCIe", signals.pcie, limits.pcie, signals.format_mean("pcie"), source=PCIE)
    yield expect_below("SMs", signals.sm, limits.pcie_sm)


def list_unseen_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    """Yield the conditions of kernels that fill the GPU for a part of the time and wait for the rest of it. Where a
    sample is longer than a step, dense work on few SMs tells the same."""
    yield expect_above("engine", signals.engine, limits.waiting_engine)
    yield expect_below(FILL, signals.fill, limits.whole_fill)
    stall = expect_above("time in which kernels only wait", signals.stall, limits.stall)
    dense = expect_above("tensor cores while SMs work", signals.density, limits.density)
    filled = signals.fill is not None and signals.fill >= limits.launch_fill
    yield stall if filled or signals.gpus == 1 or stall.holds else choose_any(stall, dense)


def list_unseen_exclusions(signals: Signals, limits: Limits) -> Mapping[Id, Condition]:
    return {"launch-bound": expect_network_above(signals, limits)}


def list_input_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    """Yield the conditions of a resting engine that is not idle. It also rests between kernels that are started one by
    one, but these do not fill the GPU. The engine's course is not asked: a grid finer than the steps shows a sawtooth,
    a coarser one none."""
    yield expect_below("engine", signals.engine, limits.fed_engine)
    yield expect_above(FILL, signals.fill, limits.launch_fill)


def list_tensor_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_tensor_above(signals, limits.tensor)
    yield expect_above("SMs", signals.sm, limits.tensor_sm)


def list_memory_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_memory_above(signals, limits.dram)
    yield expect_tensor_below(signals, limits.dram_tensor)


def list_compute_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_above(PIPES, signals.pipe, limits.pipe, source=FP32)
    yield expect_memory_below(signals, limits.dram)


def list_launch_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_above("engine", signals.engine, limits.launch_engine)
    yield expect_below(FILL, signals.fill, limits.launch_fill)


def list_launch_exclusions(signals: Signals, limits: Limits) -> Mapping[Id, Condition]:
    """List what excludes a wait for other GPUs, which looks alike where a step is shorter than a sample."""
    gpu_count = expect_below("GPUs", float(signals.gpus), 1.5, unit="count")
    engine = expect_below("engine", signals.engine, limits.waiting_engine)
    network = expect_below("network cards of the hosts", signals.network, limits.network, source=NETWORK)
    return {"unseen-communication": choose_any(gpu_count, engine, network)}


def list_latency_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_above("SMs", signals.sm, limits.waiting_sm)
    yield expect_tensor_below(signals, limits.waiting_pipe)
    yield expect_memory_below(signals, limits.waiting_pipe)
    if signals.pipe is not None:
        yield expect_pipes_below(signals, limits.waiting_pipe)


def list_moderate_conditions(signals: Signals, limits: Limits) -> Iterable[Condition]:
    yield expect_tensor_above(signals, limits.some_tensor)
    yield expect_above("SMs", signals.sm, limits.some_tensor_sm)
