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
    for cause, share, threshold, is_news in slowed_by:
        if is_news and share is not None and share > threshold:
            yield f"{cause} slows the GPUs down for {format_value(share, 'ratio')} of the time."
    if id == "insufficient-data" and signals.sm is None and signals.utilisation is not None:
        busy = format_value(signals.utilisation, "ratio")
        yield f"Some kernel ran for {busy} of the time: without profiling fields that is all."
    if id == "idle" and signals.seconds < limits.idle_seconds:
        yield f"Only {signals.seconds:.0f} s were measured: it may be a pause."
    if id == "idle" and signals.memory is not None and signals.memory > limits.idle_engine:
        yield f"Memory is in use, {signals.format_mean('memory_used')}: something is loaded and gets no work."
    is_news = id not in ("unseen-communication", "waiting")
    if is_news and signals.stall is not None and signals.stall > limits.stall / 2:
        yield f"Kernels only wait for {format_value(signals.stall, 'ratio')} of the time."


def list_power_notes(id: str, signals: Signals, limits: Limits) -> Iterator[str]:
    is_low = signals.power_limit is not None and signals.power_limit < limits.low_limit
    if is_low and id != "power-limited":
        yield f"The power limit is below the board's default: {signals.format_mean('power_limit')}."
    if signals.power_cap is not None and is_capped(signals, limits) and not is_low:
        share = format_value(signals.power_cap, "ratio")
        yield f"The power limit holds the clocks down for {share} of the time: usual at full load."


def is_capped(signals: Signals, limits: Limits) -> bool | None:
    """Tell whether the power limit holds the clocks down while power is near it. Return None where that is unknown."""
    if signals.power_cap is not None and signals.power_cap <= limits.power_cap:
        return False
    if signals.power_cap is None or signals.power is None:
        return None
    return signals.power > limits.power_near_limit


def list_clock_notes(id: str, signals: Signals, limits: Limits) -> Iterator[str]:
    """List a low clock of busy GPUs that neither heat nor power explains, or may explain."""
    capped = is_capped(signals, limits)
    is_explained = id in ("throttled", "power-limited", "idle", "not-measured") or capped
    busy = signals.engine is not None and signals.engine > limits.busy_engine
    if is_explained or not busy or signals.clock is None or signals.clock >= limits.full_clock:
        return
    level = signals.format_mean("clock")
    if None not in (capped, signals.heat_slowdown, signals.hardware_slowdown):
        explanation = "neither power nor heat holds it down. Look for locked clocks: nvidia-smi -q -d CLOCK."
    else:
        explanation = "what holds it down is not measured. Look at nvidia-smi -q -d CLOCK,PERFORMANCE."
    yield f"The clock is lowered, {level} ({format_value(signals.clock, 'ratio')}): {explanation}"
