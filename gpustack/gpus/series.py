"""`gpu metrics` lists the metrics of GPUs that a Prometheus has, with the number of series and the range of values."""

from collections.abc import Iterator
from dataclasses import dataclass

from gpustack.errors import UsageError
from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.readings import resolve_field
from gpustack.vocabulary.fields import Field, find_fields, is_ambiguous
from gpustack.vocabulary.units import convert_to_base, find_unit

EVERY = '{__name__=~"DCGM_(FI|EXP)_.+"}'


@dataclass(frozen=True)
class Metric:
    """Describe a metric. `minimum` and `maximum` are of the newest values, in the base unit `unit`; None where the unit
    is not proven, or the value is blank. `field` is None of a metric that the table does not have."""

    name: str
    series: int
    field: Field | None
    unit: str
    minimum: float | None
    maximum: float | None


@dataclass(frozen=True)
class Metrics:
    metrics: tuple[Metric, ...]
    doubts: tuple[str, ...]


def list_metrics(prometheus: Prometheus) -> Metrics:
    """List the metrics by name. Raise UsageError where there is none."""
    values: dict[str, dict[str, float]] = {}
    warnings: dict[str, None] = {}
    for word in ("count", "min", "max"):
        result = prometheus.query_instant(f"{word} by (__name__) ({EVERY})")
        warnings |= dict.fromkeys(result.warnings)
        values[word] = {series.labels["__name__"]: series.points[-1][1] for series in result.series}
    if not values["count"]:
        message = f"{prometheus.access.url} has no metrics of GPUs."
        raise UsageError("gpu-no-series", message, "No dcgm-exporter is scraped by it.")
    metrics = tuple(describe_metric(prometheus, name, values) for name in sorted(values["count"]))
    return Metrics(metrics, (*list_unproven(metrics), *(f"Prometheus: {text}" for text in warnings)))


def describe_metric(prometheus: Prometheus, name: str, values: dict[str, dict[str, float]]) -> Metric:
    field = resolve_field(name, prometheus.fetch_help_texts(name) if is_ambiguous(name) else ())
    count, least, most = (values[word].get(name, float("nan")) for word in ("count", "min", "max"))
    if field is None:
        return Metric(name, int(count), None, "", None, None)
    unit = find_unit(field.unit)
    return Metric(name, int(count), field, unit.base, convert_to_base(unit, least), convert_to_base(unit, most))


def list_unproven(metrics: tuple[Metric, ...]) -> Iterator[str]:
    for metric in metrics:
        if metric.field is None:
            why = "its unit is not proven by what the exporter says" if find_fields(metric.name) else "not known here"
            yield f"{metric.name}: {why}"
