"""The values that are served: their fields of DCGM, their units, and how the values of a pod's GPUs are combined."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from gpustack.gpus.activity import LIMIT, POWER, SHARES, TEMPERATURE
from gpustack.gpus.device import Device
from gpustack.vocabulary.fields import find_fields
from gpustack.vocabulary.memory import TOTAL_MEMORY, USED_MEMORY
from gpustack.vocabulary.units import find_unit


@dataclass(frozen=True)
class Measure:
    """Hold a value that is served. `aggregation` is `mean`, `sum` or `highest`, over the GPUs of a pod."""

    field: str
    aggregation: str

    @property
    def unit(self) -> str:
        """The unit is `ratio`, `bytes`, `watts` or `celsius`."""
        return find_unit(find_fields(self.field)[0].unit).base


MEASURES: Mapping[str, Measure] = {
    **{name: Measure(field, "mean") for name, field in SHARES.items()},
    "memory_used": Measure(USED_MEMORY, "sum"),
    "memory_total": Measure(TOTAL_MEMORY, "sum"),
    "power": Measure(POWER, "sum"),
    "power_limit": Measure(LIMIT, "sum"),
    "temperature": Measure(TEMPERATURE, "highest"),
}
AGGREGATIONS: Mapping[str, Callable[[Sequence[float]], float]] = {"mean": fmean, "sum": sum, "highest": max}


@dataclass(frozen=True)
class Point:
    """Hold a value. `timestamp` is in seconds since 1970, by the clock of Prometheus."""

    value: float
    timestamp: float


def select_point(device: Device, measure: Measure) -> Point | None:
    """Select the value of one GPU. A value that is computed from several is as old as the oldest of them."""
    if measure.field == TOTAL_MEMORY and device.memory is not None:
        return Point(device.memory, min(reading.time for reading in device.memory_readings))
    reading = device.readings.get(measure.field)
    return Point(reading.value, reading.time) if reading else None


def combine(points: Sequence[Point], measure: Measure) -> Point:
    """Combine at least one point into that of a pod."""
    return Point(
        AGGREGATIONS[measure.aggregation]([point.value for point in points]), min(point.timestamp for point in points)
    )


def explain_absence(measure: Measure, subject: str, doubts: Sequence[str]) -> str:
    """Explain in a sentence why a GPU has no such value."""
    field = find_fields(measure.field)[0]
    for doubt in doubts:
        if doubt.startswith(tuple(f"{spelling}:" for spelling in field.spellings)):
            return f"{doubt}."
    absent = f" Absent on: {field.absent}." if field.absent else ""
    return f"The exporter sends no {field.name} of {subject}.{absent}"
