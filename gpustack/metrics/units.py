"""Units of DCGM's fields, and the base units that everything is shown and compared in.

DCGM marks what it cannot say by huge numbers (2^31, 2^47, 2^63 less a few: dcgmlib/dcgm_structs.h), which old exporters
and dcgmi print. A value outside of what its unit can have is blank, too.
"""

from dataclasses import dataclass
from math import isfinite

# Blank values of 32 bits, the smallest ones.
BLANK = 2147483632


@dataclass(frozen=True)
class Unit:
    """A value times `scale` is in `base`. Only from `least` to `most`, before scaling, is it a value at all."""

    base: str
    scale: float = 1.0
    least: float = 0.0
    most: float = BLANK - 1


RATIO = Unit("ratio", most=1.05)  # a little more than 1 is measured on MIG instances
SECONDS = Unit("seconds", 1e-9, most=9.2e18)
COUNT = Unit("count", most=9.2e18)
# As the column `unit` of versions/dcgm-fields.csv spells them.
UNITS = {
    "%": Unit("ratio", 0.01, most=105),
    "ratio 0..1": RATIO,
    "ratio": RATIO,
    "Celsius": Unit("celsius", least=-273, most=200),
    "Celsius margin": Unit("celsius", least=-273, most=200),
    "W": Unit("watts", most=10_000),
    "MHz": Unit("hertz", 1e6, most=1e5),
    "MiB": Unit("bytes", 2**20, most=1e9),
    "bytes": Unit("bytes", most=9.2e18),
    "mJ": Unit("joules", 1e-3, most=9.2e18),
    "J": Unit("joules", most=9.2e18),
    "ns": SECONDS,
    "MB/s": Unit("bytes_per_second", 1e6, most=1e8),
    "KB/s (historic)": Unit("bytes_per_second", 1e3, most=1e11),
    "bytes/s": Unit("bytes_per_second", most=1e14),
    "cycles": Unit("count", most=9.2e18),
}


def unit_of(spelled: str) -> Unit:
    """Codes, flags, states and numbers of things have no unit to convert."""
    return UNITS.get(spelled, COUNT)


def to_base(unit: Unit, value: float) -> float | None:
    """None for a blank value, NaN, and what cannot be."""
    if unit is COUNT and BLANK <= value <= BLANK + 3:
        return None
    return value * unit.scale if isfinite(value) and unit.least <= value <= unit.most else None
