"""`gpu metrics`: which metrics of GPUs a Prometheus has, of how many GPUs, and between which values."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpustack.command import Command
from gpustack.errors import UsageError
from gpustack.metrics.fields import Field, find_fields, is_ambiguous
from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.readings import settle
from gpustack.metrics.units import to_base, unit_of

EVERY = '{__name__=~"DCGM_(FI|EXP)_.+"}'


@dataclass(frozen=True)
class Metric:
    """`least` and `most` are of the newest values, in the base unit `unit`; None where the unit is not proven, or the
    value blank. `field` is None of a metric that the table does not have."""

    name: str
    series: int
    field: Field | None
    unit: str
    least: float | None
    most: float | None


@dataclass(frozen=True)
class Metrics:
    found: tuple[Metric, ...]
    doubts: tuple[str, ...]


def list_metrics(prometheus: Prometheus) -> Metrics:
    """By name. Raises UsageError where there is none."""
    values: dict[str, dict[str, float]] = {}
    warnings: dict[str, None] = {}
    for word in ("count", "min", "max"):
        found = prometheus.instant(f"{word} by (__name__) ({EVERY})")
        warnings |= dict.fromkeys(found.warnings)
        values[word] = {series.labels["__name__"]: series.points[-1][1] for series in found.series}
    if not values["count"]:
        message = f"{prometheus.access.url} has no metrics of GPUs."
        raise UsageError("gpu-no-series", message, "No dcgm-exporter is scraped by it.", Command("gpustack", "doctor"))
    metrics = tuple(describe(prometheus, name, values) for name in sorted(values["count"]))
    return Metrics(metrics, (*unproven(metrics), *(f"Prometheus: {text}" for text in warnings)))


def describe(prometheus: Prometheus, name: str, values: dict[str, dict[str, float]]) -> Metric:
    field = settle(name, prometheus.help_texts(name) if is_ambiguous(name) else ())
    count, least, most = (values[word].get(name, float("nan")) for word in ("count", "min", "max"))
    if field is None:
        return Metric(name, int(count), None, "", None, None)
    unit = unit_of(field.unit)
    return Metric(name, int(count), field, unit.base, to_base(unit, least), to_base(unit, most))


def unproven(metrics: tuple[Metric, ...]) -> Iterator[str]:
    for metric in metrics:
        if metric.field is None:
            why = "its unit is not proven by what the exporter says" if find_fields(metric.name) else "not known here"
            yield f"{metric.name}: {why}"
