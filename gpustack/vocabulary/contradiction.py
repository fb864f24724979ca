"""Values of one GPU that cannot all be true.

One rule for all who read activity: reports, verdicts and recorded series. A value that is not known is None and
contradicts nothing. Power and clock are shares of their limit and maximum; for a MIG instance they are the board's, and
are None. Copies are the busiest of PCIe, NVLink and memory, each as a share: they explain utilisation without an
engine.

Sources. Profiling counters of busy GPUs read 0 until DCGM is restarted: NVIDIA/dcgm-exporter#662, NVIDIA/DCGM#303, both
with GPU_UTIL at 100. Copies alone show GPU_UTIL 100 with the engine at 0; a context without work has 0.19 of the power
limit of an H100, full work 0.5 and more: tests/recorded/h100. An idle T4 or L4 has up to 0.45 of its smaller limit.
"""

from dataclasses import dataclass
from typing import Literal

from gpustack.vocabulary.fields import DEV, PROF

IDLE_ACTIVITY, BUSY_ACTIVITY = 0.01, 0.5  # of engine, SMs and utilisation: at most, and at least
WORKING_POWER = 0.6  # of the limit: no board draws more without work
COPY_SHARE = 0.05  # of a link or of memory: more explains utilisation without an engine
COPY_RATE = 1e9  # bytes a second over a link: idle boards print 0.2 MB/s at most (tests/recorded/exporter-pages)
FULL_POWER, LOWEST_CLOCK = 0.8, 0.15  # a board at its lowest clock does not draw nearly all of its power
SM_EXCESS = 0.3  # SMs work only while the engine does; counters of short kernels differ by up to 0.28
Name = Literal["engine", "utilisation", "power", "sm", "clock"]
FIELDS: dict[str, str] = {
    "engine": f"{PROF}GR_ENGINE_ACTIVE",
    "utilisation": f"{DEV}GPU_UTIL",
    "power": f"{DEV}POWER_USAGE",
    "sm": f"{PROF}SM_ACTIVE",
    "clock": f"{DEV}SM_CLOCK",
}
REMEDY = "restart the DCGM host engine of its node, or the exporter with its own"
"""The known remedy of dead counters."""


@dataclass(frozen=True)
class Contradiction:
    """Name two values that exclude each other, each from 0 to 1. With `dead_counters` the profiling counters of DCGM
    are the wrong ones, and a restart of its host engine is the known remedy."""

    names: tuple[Name, Name]
    values: tuple[float, float]
    dead_counters: bool = True


def find_contradiction(
    engine: float | None = None,
    utilisation: float | None = None,
    power: float | None = None,
    sm: float | None = None,
    clock: float | None = None,
    copies: float | None = None,
) -> Contradiction | None:
    """Find the first pair of values that cannot both be true."""
    counter: Name = "sm" if engine is None else "engine"
    counter_values = [value for value in (engine, sm) if value is not None]
    if counter_values and max(counter_values) <= IDLE_ACTIVITY:
        copied = is_above(copies, COPY_SHARE) and not is_above(power, WORKING_POWER)
        if utilisation is not None and utilisation >= BUSY_ACTIVITY and not copied:
            return Contradiction((counter, "utilisation"), (counter_values[0], utilisation))
        if power is not None and power >= WORKING_POWER:
            return Contradiction((counter, "power"), (counter_values[0], power))
    if engine is not None and sm is not None and sm > engine + SM_EXCESS:
        return Contradiction(("sm", "engine"), (sm, engine))
    if engine is not None and engine >= BUSY_ACTIVITY and utilisation is not None and utilisation <= IDLE_ACTIVITY:
        return Contradiction(("engine", "utilisation"), (engine, utilisation), dead_counters=False)
    if power is not None and power >= FULL_POWER and clock is not None and clock <= LOWEST_CLOCK:
        return Contradiction(("power", "clock"), (power, clock), dead_counters=False)
    return None


def is_above(value: float | None, threshold: float) -> bool:
    return value is not None and value >= threshold


def describe_side(name: str, value: float) -> str:
    """Describe one of the two values: `DCGM_FI_DEV_GPU_UTIL is 99 %`."""
    suffix = " of the most" if name in ("power", "clock") else ""
    return f"{FIELDS[name]} is {value * 100:.0f} %{suffix}"
