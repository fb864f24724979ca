"""Asks a Prometheus for fields of GPUs, by all of their names at once, and for what it knows about whose they are."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from gpustack.command import Command
from gpustack.errors import UsageError
from gpustack.files.json_text import dump_json
from gpustack.metrics.fields import is_ambiguous, spellings
from gpustack.metrics.gpus import owner_of
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.metrics.readings import Readings, read

# Seconds: what has no sample for so long is not there now. Exporters are scraped at least once a minute.
BACK = 120
# Of kube-state-metrics, where it is asked to give this label of nodes: values/monitoring.yaml.
STRATEGY = "label_nvidia_com_gpu_sharing_strategy"


def ask_readings(prometheus: Prometheus, names: Iterable[str], labels: Mapping[str, str] | None = None) -> Readings:
    """The newest reading of each of these fields of every GPU, in one query; of those series only that have these
    labels. Raises UsageError where no GPU has any."""
    metrics = spellings(frozenset(names))
    chosen = "".join(f",{name}={dump_json(value)}" for name, value in (labels or {}).items())
    found = prometheus.instant(f'{{__name__=~"{"|".join(metrics)}"{chosen}}}[{BACK}s]')
    there = {series.labels.get("__name__", "") for series in found.series}
    unsure = [metric for metric in metrics if metric in there and is_ambiguous(metric)]
    series = without_own_pods(prometheus, found.series)
    readings = read(series, {metric: prometheus.help_texts(metric) for metric in unsure})
    if not readings.newest and not readings.doubts:
        message = f"{prometheus.access.url} has no metrics of GPUs from the last {BACK} s."
        why = "No dcgm-exporter is scraped, or it is another Prometheus than the one that does."
        if labels:
            message, why = f"{message[:-1]} with {chosen[1:]}.", "No series of a GPU has these labels."
        raise UsageError("gpu-no-series", message, why, Command("gpustack", "doctor"))
    doubts = (*readings.doubts, *(f"Prometheus: {text}" for text in found.warnings))
    return Readings(readings.newest, doubts)


def without_own_pods(prometheus: Prometheus, series: Sequence[Series]) -> Sequence[Series]:
    """Without the exporter's own pod, whatever its name: `up` of the same target has it, and never a workload's. It is
    in the labels of a free GPU where Prometheus does not honour the exporter's labels."""
    unsure = {one.labels.get("job", "") for one in series if owner_of(one.labels) and "exported_pod" not in one.labels}
    if not unsure:
        return series
    jobs = dump_json("|".join(map(re.escape, sorted(unsure))))
    own = {target_of(one): pod_of(one) for one in prometheus.instant(f"up{{job=~{jobs}}}").series}
    return [without_pod(one) if pod_of(one) == own.get(target_of(one), ()) else one for one in series]


def target_of(series: Series) -> tuple[str, ...]:
    return tuple(series.labels.get(name, "") for name in ("job", "instance"))


def pod_of(series: Series) -> tuple[str, ...]:
    return tuple(series.labels.get(name, "") for name in ("namespace", "pod"))


def without_pod(series: Series) -> Series:
    kept = {name: value for name, value in series.labels.items() if name not in {"namespace", "pod", "container"}}
    return replace(series, labels=kept)


def ask_sharing(prometheus: Prometheus) -> dict[str, str]:
    """How nodes share their GPUs (time-slicing, mps, none), by node; empty where kube-state-metrics does not say it."""
    found = prometheus.instant(f'kube_node_labels{{{STRATEGY}!=""}}')
    return {one.labels.get("node", ""): one.labels.get(STRATEGY, "") for one in found.series}
