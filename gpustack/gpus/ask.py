"""Asks a Prometheus for fields of GPUs, by all of their names at once."""

from collections.abc import Iterable

from gpustack.errors import UsageError
from gpustack.metrics.fields import is_ambiguous, spellings
from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.readings import Readings, read

# Seconds: what has no sample for so long is not there now. Exporters are scraped at least once a minute.
BACK = 120


def ask_readings(prometheus: Prometheus, names: Iterable[str]) -> Readings:
    """The newest reading of each of these fields of every GPU, in one query. Raises UsageError where no GPU has any."""
    metrics = spellings(frozenset(names))
    found = prometheus.instant(f'{{__name__=~"{"|".join(metrics)}"}}[{BACK}s]')
    there = {series.labels.get("__name__", "") for series in found.series}
    unsure = [metric for metric in metrics if metric in there and is_ambiguous(metric)]
    readings = read(found.series, {metric: prometheus.help_texts(metric) for metric in unsure})
    if not readings.newest and not readings.doubts:
        message = f"{prometheus.access.url} has no metrics of GPUs from the last {BACK} s."
        why = "No dcgm-exporter is scraped, or it is another Prometheus than the one that does."
        raise UsageError("gpu-no-series", message, why, "gpustack doctor")
    doubts = (*readings.doubts, *(f"Prometheus: {text}" for text in found.warnings))
    return Readings(readings.newest, doubts)
