"""Formats of quantities for people."""

# By base unit: the size of the displayed unit in it, decimals, and the name of the displayed unit.
UNIT_FORMATS = {
    "ratio": (1.0, 2, ""),
    "bytes_per_second": (1e9, 1, " GB/s"),
    "bytes": (2.0**30, 1, " GiB"),
    "watts": (1.0, 0, " W"),
    "hertz": (1e6, 0, " MHz"),
    "celsius": (1.0, 0, " °C"),
    "gpus": (1.0, 1, " GPUs"),
    "money": (1.0, 0, ""),
}


def format_value(value: float, unit: str) -> str:
    scale, decimals, unit_text = UNIT_FORMATS[unit]
    return f"{value / scale:.{decimals}f}{unit_text}"


def format_percent(share: float | None, sign: str = "+") -> str:
    """Format a share as `+8.1 %`, with a minus sign as wide as the plus sign. The text is empty for None."""
    return "" if share is None else f"{share * 100:{sign}.1f} %".replace("-", "\N{MINUS SIGN}")
