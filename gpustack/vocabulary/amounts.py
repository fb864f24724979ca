"""Amounts of quantities for people: a value with its unit, and with the reference that it is a share of."""

# By base unit: the size of the displayed unit in it, decimals, and the name of the displayed unit.
UNIT_FORMATS = {
    "ratio": (0.01, 0, " %"),
    "bytes_per_second": (1e9, 1, " GB/s"),
    "bytes": (2.0**30, 1, " GiB"),
    "watts": (1.0, 0, " W"),
    "hertz": (1e6, 0, " MHz"),
    "celsius": (1.0, 0, " °C"),
    "seconds": (1.0, 0, " s"),
    "gpus": (1.0, 1, " GPUs"),
    "money": (1.0, 0, ""),
}


def format_number(value: float, unit: str, decimals: int = 0) -> str:
    """Format a value in the displayed unit, without its name: `1,980`. A share below one per cent keeps a decimal."""
    scale, unit_decimals, _ = UNIT_FORMATS[unit]
    if unit == "ratio" and 0.0005 <= abs(value) < 0.01:
        unit_decimals = 1
    if unit == "bytes_per_second" and value >= 100 * scale:
        unit_decimals = 0
    return f"{value / scale:,.{max(decimals, unit_decimals)}f}"


def format_value(value: float, unit: str, decimals: int = 0) -> str:
    return f"{format_number(value, unit, decimals)}{UNIT_FORMATS[unit][2]}"


def format_level(value: float, reference: float | None, unit: str) -> str:
    """Format a value beside its reference: `350 of 700 W`, `54 % of 93 %`."""
    if not reference:
        return format_value(value, unit)
    text = format_value(value, unit) if unit == "ratio" else format_number(value, unit)
    return f"{text} of {format_value(reference, unit)}"
