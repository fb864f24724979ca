"""The values that are served: which field of DCGM each is, in which unit, and how those of a pod's GPUs make one."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from gpustack.gpus.activity import LIMIT, POWER, SHARES, TEMPERATURE
from gpustack.gpus.fleet import FREE, RESERVED, TOTAL, USED, memory_of
from gpustack.metrics.fields import find_fields
from gpustack.metrics.readings import Reading
from gpustack.metrics.units import unit_of


@dataclass(frozen=True)
class Measure:
    """`over` is `mean`, `sum` or `highest`, of the GPUs of a pod."""

    field: str
    over: str

    @property
    def unit(self) -> str:
        """`ratio`, `bytes`, `watts`, `celsius`."""
        return unit_of(find_fields(self.field)[0].unit).base


MEASURES: Mapping[str, Measure] = {
    **{name: Measure(field, "mean") for name, field in SHARES.items()},
    "memory_used": Measure(USED, "sum"),
    "memory_total": Measure(TOTAL, "sum"),
    "power": Measure(POWER, "sum"),
    "power_limit": Measure(LIMIT, "sum"),
    "temperature": Measure(TEMPERATURE, "highest"),
}
OVER: Mapping[str, Callable[[Sequence[float]], float]] = {"mean": fmean, "sum": sum, "highest": max}


@dataclass(frozen=True)
class Point:
    """`at` is in seconds since 1970, by the clock of Prometheus."""

    value: float
    at: float


def point_of(found: Mapping[str, Reading], measure: Measure) -> Point | None:
    """Of one GPU. A value that is made of several is as old as the oldest of them."""
    if measure.field == TOTAL and (total := memory_of(found)) is not None:
        parts = [TOTAL] if TOTAL in found else [USED, FREE, RESERVED]
        return Point(total, min(found[name].at for name in parts))
    reading = found.get(measure.field)
    return Point(reading.value, reading.at) if reading else None


def combine(points: Sequence[Point], measure: Measure) -> Point:
    """Of at least one."""
    return Point(OVER[measure.over]([point.value for point in points]), min(point.at for point in points))


def explain_absence(measure: Measure, who: str, doubts: Sequence[str]) -> str:
    """Why a GPU has no such value, in a sentence."""
    field = find_fields(measure.field)[0]
    for doubt in doubts:
        if doubt.startswith(tuple(f"{spelling}:" for spelling in field.spellings)):
            return f"{doubt}."
    absent = f" Absent on: {field.absent}." if field.absent else ""
    return f"The exporter sends no {field.name} of {who}.{absent}"
