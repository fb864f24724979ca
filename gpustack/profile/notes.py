"""Notes: findings beside the class."""

from collections.abc import Iterator

from gpustack.profile.limits import Limits
from gpustack.profile.signals import Signals
from gpustack.vocabulary.amounts import format_value


def list_notes(id: str, signals: Signals, limits: Limits) -> Iterator[str]:
    """List findings beside the class `id`, which tells some of them itself."""
    yield from list_power_notes(id, signals, limits)
    yield from list_clock_notes(id, signals, limits)
    slowed_by = (
        ("Heat", signals.heat_slowdown, limits.heat_slowdown, id != "throttled"),
        ("Hardware", signals.hardware_slowdown, limits.hardware_slowdown, id in ("insufficient-data", "not-measured")),
    )
    for cause, share, most, is_news in slowed_by:
        if is_news and (share or 0.0) > most:
            yield f"{cause} slows the GPUs down for {format_value(share or 0.0, 'ratio')} of the time."
    if id == "insufficient-data" and signals.sm is None and signals.utilisation is not None:
        busy = format_value(signals.utilisation, "ratio")
        yield f"Some kernel ran for {busy} of the time: without profiling fields that is all."
    if id == "idle" and signals.seconds < limits.idle_seconds:
        yield f"Only {signals.seconds:.0f} s were measured: it may be a pause."
    if id == "idle" and (signals.memory or 0) > limits.idle_engine:
        yield f"Memory is in use, {signals.format_mean('memory_used')}: something is loaded and gets no work."
    if id not in ("unseen-communication", "waiting") and (signals.stall or 0.0) > limits.stall / 2:
        yield f"Kernels only wait for {format_value(signals.stall or 0.0, 'ratio')} of the time."


def list_power_notes(id: str, signals: Signals, limits: Limits) -> Iterator[str]:
    is_low = signals.power_limit is not None and signals.power_limit < limits.low_limit
    if is_low and id != "power-limited":
        yield f"The power limit is below the board's default: {signals.format_mean('power_limit')}."
    if is_capped(signals, limits) and not is_low:
        share = format_value(signals.power_cap or 0.0, "ratio")
        yield f"The power limit holds the clocks down for {share} of the time: usual at full load."


def is_capped(signals: Signals, limits: Limits) -> bool:
    return (signals.power_cap or 0.0) > limits.power_cap and (signals.power or 0.0) > limits.power_near_limit


def list_clock_notes(id: str, signals: Signals, limits: Limits) -> Iterator[str]:
    """List a low clock of busy GPUs that neither heat nor power explains, or may explain."""
    told = id in ("throttled", "power-limited", "idle", "not-measured") or is_capped(signals, limits)
    busy = (signals.engine or 0.0) > limits.busy_engine
    if told or not busy or signals.clock is None or signals.clock >= limits.full_clock:
        return
    level = signals.format_mean("clock")
    known = [share is not None for share in (signals.power_cap, signals.heat_slowdown, signals.hardware_slowdown)]
    if all(known):
        why = "neither power nor heat holds it down. Look for locked clocks: nvidia-smi -q -d CLOCK."
    else:
        why = "what holds it down is not measured. Look at nvidia-smi -q -d CLOCK,PERFORMANCE."
    yield f"The clock is lowered, {level} ({format_value(signals.clock, 'ratio')}): {why}"
