"""Queries of a Prometheus for fields of GPUs, by all of their names at once, and for their owners and sharing."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gpustack.errors import MissingDataError
from gpustack.files.json_text import dump_json
from gpustack.metrics.gpus import extract_owner
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.metrics.readings import Readings, build_readings
from gpustack.vocabulary.fields import is_ambiguous, list_spellings
from gpustack.vocabulary.labels import WORKLOAD_PREFIX

# Seconds: what has no sample for so long is not there now. Exporters are scraped at least once a minute.
LOOKBACK_SECONDS = 120
# Of kube-state-metrics, where it is asked to give this label of nodes: values/monitoring.yaml.
STRATEGY = "label_nvidia_com_gpu_sharing_strategy"


def query_readings(prometheus: Prometheus, names: Iterable[str], labels: Mapping[str, str] | None = None) -> Readings:
    """Query the newest reading of each of these fields of every GPU at once, of series with these labels alone. Raise
    MissingDataError where no GPU has any."""
    metrics = list_spellings(frozenset(names))
    matchers = "".join(f",{name}={dump_json(value)}" for name, value in (labels or {}).items())
    series_list = prometheus.query_instant(f'{{__name__=~"{"|".join(metrics)}"{matchers}}}[{LOOKBACK_SECONDS}s]')
    present_names = {series.labels.get("__name__", "") for series in series_list}
    ambiguous_names = [metric for metric in metrics if metric in present_names and is_ambiguous(metric)]
    own_series = drop_exporter_pods(prometheus, series_list)
    readings = build_readings(own_series, {metric: prometheus.fetch_help_texts(metric) for metric in ambiguous_names})
    if not readings.newest and not readings.doubts:
        message = f"{prometheus.access.url} has no metrics of GPUs from the last {LOOKBACK_SECONDS} s."
        reason = "No dcgm-exporter is scraped, or it is another Prometheus than the one that does."
        if labels:
            message, reason = f"{message[:-1]} with {matchers[1:]}.", "No series of a GPU has these labels."
        raise MissingDataError("gpu-no-series", message, reason)
    return readings


def drop_exporter_pods(prometheus: Prometheus, series_list: Sequence[Series]) -> Sequence[Series]:
    """Drop the exporter's own pod from the labels, whatever its name: `up` of the same target has it, and never a
    workload's. It is in the labels of a free GPU where Prometheus does not honour the exporter's labels."""
    unsure_jobs = {
        series.labels.get("job", "")
        for series in series_list
        if extract_owner(series.labels) and f"{WORKLOAD_PREFIX}pod" not in series.labels
    }
    if not unsure_jobs:
        return series_list
    jobs = dump_json("|".join(map(re.escape, sorted(unsure_jobs))))
    targets = prometheus.query_instant(f"up{{job=~{jobs}}}")
    exporter_pods = {extract_target(target): extract_pod(target) for target in targets}
    return [
        drop_pod_labels(series) if extract_pod(series) == exporter_pods.get(extract_target(series), ()) else series
        for series in series_list
    ]


def extract_target(series: Series) -> tuple[str, ...]:
    return tuple(series.labels.get(name, "") for name in ("job", "instance"))


def extract_pod(series: Series) -> tuple[str, ...]:
    return tuple(series.labels.get(name, "") for name in ("namespace", "pod"))


def drop_pod_labels(series: Series) -> Series:
    labels = {name: value for name, value in series.labels.items() if name not in {"namespace", "pod", "container"}}
    return replace(series, labels=labels)


def query_sharing(prometheus: Prometheus) -> dict[str, str]:
    """Query how nodes share their GPUs (time-slicing, mps, none), by node. It is empty where kube-state-metrics does
    not export the label."""
    series_list = prometheus.query_instant(f'kube_node_labels{{{STRATEGY}!=""}}')
    return {series.labels.get("node", ""): series.labels.get(STRATEGY, "") for series in series_list}
