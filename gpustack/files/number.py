"""Numbers in texts and documents of others: finite, and within bounds that the caller knows."""

import re
from math import isfinite

WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)
NUMBER = re.compile(r"[-+]?[0-9]{1,18}(?:\.[0-9]{1,18})?(?:[eE][-+]?[0-9]{1,3})?", re.ASCII)
LARGEST = 1e18
"""The bound of a number that has no closer one: bytes, nanoseconds and counters are smaller."""


def parse_whole(text: str, low: int, high: int) -> int:
    """Parse a whole number in decimal digits. Raise ValueError for another text, and for one out of bounds."""
    if not WHOLE_NUMBER.fullmatch(text) or not low <= int(text) <= high:
        raise ValueError(f"not a whole number from {low} to {high}: {text[:40]!r}")
    return int(text)


def parse_number(text: object, low: float = -LARGEST, high: float = LARGEST) -> float:
    """Return the number of a text such as `1.5` or `2e-3`, or of a value of a document.

    Raise ValueError for another text or type, and for a number that is not finite or out of bounds."""
    is_number = NUMBER.fullmatch(text) if isinstance(text, str) else type(text) in (int, float)
    value = float(text) if is_number and isinstance(text, (str, int, float)) else float("nan")
    if not isfinite(value) or not low <= value <= high:
        raise ValueError(f"not a number from {low:g} to {high:g}: {str(text)[:40]!r}")
    return value
