"""`gpu metrics` lists the metrics of GPUs that a Prometheus has, with the number of series and the range of values."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpustack.errors import MissingDataError
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.metrics.readings import resolve_field
from gpustack.vocabulary.fields import Field, convert_value, find_fields, is_ambiguous
from gpustack.vocabulary.units import find_unit

GPU_SERIES = '{__name__=~"DCGM_(FI|EXP)_.+"}'


@dataclass(frozen=True)
class Metric:
    """Describe a metric. `series` is None where the count of its series is no number. `minimum` and
    `maximum` are of the newest values, in the base unit `unit`; None where the unit
    is not proven, or the value is blank. `field` is None of a metric that the table does not have."""

    name: str
    series: int | None
    field: Field | None
    unit: str
    minimum: float | None
    maximum: float | None


@dataclass(frozen=True)
class Metrics:
    metrics: tuple[Metric, ...]
    doubts: tuple[str, ...]


def list_metrics(prometheus: Prometheus) -> Metrics:
    """List the metrics by name. Raise MissingDataError where there is none."""
    newest: dict[str, dict[str, Series]] = {}
    for word in ("count", "min", "max"):
        series_list = prometheus.query_instant(f"{word} by (__name__) ({GPU_SERIES})")
        newest[word] = {series.labels.get("__name__", ""): series for series in series_list}
    if not newest["count"]:
        message = f"{prometheus.access.url} has no metrics of GPUs."
        raise MissingDataError("gpu-no-series", message, "No dcgm-exporter is scraped by it.")
    metrics = tuple(describe_metric(prometheus, name, newest) for name in sorted(newest["count"]))
    return Metrics(metrics, tuple(list_unproven(metrics)))


def describe_metric(prometheus: Prometheus, name: str, newest: Mapping[str, Mapping[str, Series]]) -> Metric:
    field = resolve_field(name, prometheus.fetch_help_texts(name) if is_ambiguous(name) else ())
    count = newest["count"][name].find_newest_count()
    if field is None:
        return Metric(name, count, None, "", None, None)
    values = (newest[word][name].find_newest_value() if name in newest[word] else None for word in ("min", "max"))
    minimum, maximum = (None if value is None else convert_value(field, value) for value in values)
    return Metric(name, count, field, find_unit(field.unit).base, minimum, maximum)


def list_unproven(metrics: tuple[Metric, ...]) -> Iterator[str]:
    for metric in metrics:
        if metric.field is None:
            reason = (
                "its unit is not proven by what the exporter says" if find_fields(metric.name) else "not known here"
            )
            yield f"{metric.name}: {reason}"
