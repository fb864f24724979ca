"""Units of DCGM's fields, and the base units in which values are compared and shown.

DCGM marks unknown values by huge numbers (2^31, 2^47, 2^63 less a few: dcgmlib/dcgm_structs.h), which old exporters and
dcgmi print. A value outside of the range of its unit counts as blank, too.
"""

from dataclasses import dataclass
from math import isfinite

# Blank values of 32 bits, the smallest ones.
BLANK = 2147483632


@dataclass(frozen=True)
class Unit:
    """Describe a unit: `scale` times a value is in the unit `base`. Values below `minimum` or above `maximum`, before
    scaling, are blank."""

    base: str
    scale: float = 1.0
    minimum: float = 0.0
    maximum: float = BLANK - 1


RATIO = Unit("ratio", maximum=1.05)  # a little more than 1 is measured on MIG instances
SECONDS = Unit("seconds", 1e-9, maximum=9.2e18)
COUNT = Unit("count", maximum=9.2e18)
# As the column `unit` of versions/dcgm-fields.csv spells them.
UNITS = {
    "%": Unit("ratio", 0.01, maximum=105),
    "ratio 0..1": RATIO,
    "ratio": RATIO,
    "Celsius": Unit("celsius", minimum=-273, maximum=200),
    "Celsius margin": Unit("celsius", minimum=-273, maximum=200),
    "W": Unit("watts", maximum=10_000),
    "MHz": Unit("hertz", 1e6, maximum=1e5),
    "MiB": Unit("bytes", 2**20, maximum=1e9),
    "bytes": Unit("bytes", maximum=9.2e18),
    "mJ": Unit("joules", 1e-3, maximum=9.2e18),
    "J": Unit("joules", maximum=9.2e18),
    "ns": SECONDS,
    # Fields of NVLinks. DCGM divides NVML's KiB/s by 1000 (DcgmCacheManager.cpp, DCGM 4.6.0).
    "MB/s": Unit("bytes_per_second", 1.024e6, maximum=1e8),
    "KB/s (historic)": Unit("bytes_per_second", 1e3, maximum=1e11),
    "bytes/s": Unit("bytes_per_second", maximum=1e14),
    "cycles": Unit("count", maximum=9.2e18),
}


def find_unit(spelling: str) -> Unit:
    """Find the unit of a spelling. Codes, flags, states and counts have none to convert, and are COUNT."""
    return UNITS.get(spelling, COUNT)


def convert_to_base(unit: Unit, value: float) -> float | None:
    """Convert a value to its base unit. Return None for a blank value, NaN, and a value outside of the range of the
    unit."""
    if unit is COUNT and BLANK <= value <= BLANK + 3:
        return None
    return value * unit.scale if isfinite(value) and unit.minimum <= value <= unit.maximum else None
