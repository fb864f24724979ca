"""Values of quantities as people read them."""

# Base unit: what one of the shown unit is of it, decimals, and the shown unit.
SHOWN = {
    "ratio": (1.0, 2, ""),
    "bytes_per_second": (1e9, 1, " GB/s"),
    "bytes": (2.0**30, 1, " GiB"),
    "watts": (1.0, 0, " W"),
    "hertz": (1e6, 0, " MHz"),
    "celsius": (1.0, 0, " °C"),
    "gpus": (1.0, 1, " GPUs"),
    "money": (1.0, 0, ""),
}


def shown(value: float, unit: str) -> str:
    scale, decimals, word = SHOWN[unit]
    return f"{value / scale:.{decimals}f}{word}"


def percent(share: float | None, sign: str = "+") -> str:
    """`+8.1 %`; a minus sign of the same width as the plus."""
    return "" if share is None else f"{share * 100:{sign}.1f} %".replace("-", "\N{MINUS SIGN}")
