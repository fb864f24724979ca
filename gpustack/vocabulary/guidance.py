"""Meaning of values of DCGM's fields: the usual range, high and low values, and the action.

The tables are gpustack/versions/metric-guidance.csv and wrong-ids.csv. They are orientation: alerts and verdicts have
their own limits.
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


@dataclass(frozen=True)
class WrongId:
    """Hold an id that is no known field. `actual` is a sentence about what DCGM has by it, `confusion` the quantity for
    which tutorials give it, and `right` the field of that quantity."""

    id: str
    actual: str
    confusion: str
    right: str


@cache
def load_wrong_ids() -> Mapping[str, WrongId]:
    """Load the ids that tutorials give by mistake and that are no field that gpustack knows."""
    return {row[0]: WrongId(*row) for row in read_rows("wrong-ids.csv")}
