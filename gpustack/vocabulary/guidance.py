"""Meaning of values of DCGM's fields: the usual range, high and low values, and the action.

The table is gpustack/versions/metric-guidance.csv. It is orientation: alerts and verdicts have their own limits.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from gpustack.config.versions import read_rows


@dataclass(frozen=True)
class Guidance:
    """Hold what values of a field mean. `confusion` is the quantity for which tutorials give the id of this field. An
    empty text says nothing."""

    name: str
    usual: str
    high: str
    low: str
    action: str
    confusion: str


@cache
def load_guidance() -> Mapping[str, Guidance]:
    """Load the guidance by the names of the fields."""
    return {row[0]: Guidance(*row) for row in read_rows("metric-guidance.csv")}
