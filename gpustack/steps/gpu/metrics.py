"""GPU metrics: the DCGM metrics of each GPU reach Prometheus, once, under stable names.

A ConfigMap of gpustack lists the exported counters, with the legacy names that dashboards and alerts use; the spec may
add fields. One ServiceMonitor lets Prometheus find the exporter: either NVIDIA's operator owns one with the exporter's
name (and deletes any object of that name if its ServiceMonitor is disabled), or gpustack owns one with another name.
There are never both: each GPU would be counted twice in every sum. Without the operator it is gpustack's.

Settings: gpu.metrics. Sources: NVIDIA/gpu-operator v26.7.0 controllers/object_controls.go; NVIDIA/dcgm-exporter README.
"""

from collections.abc import Sequence

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.probes.gpu.alert_inputs import ALERT_INPUTS
from gpustack.probes.gpu.cluster import GPU_NODES
from gpustack.probes.gpu.dcgm import COUNTERS as COUNTERS_FACT
from gpustack.probes.gpu.dcgm import EXPORTER, MONITORS, SERIES, GpuSeries, Monitor
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.temporary_changes import LOAD, MARKS, Mark, parse_mark
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.applied_objects import SERVICE_MONITORS
from gpustack.probes.monitoring.scrape import STALE_SECONDS
from gpustack.steps.applied_objects import find_object_mismatch
from gpustack.steps.gpu.exporter import COUNTERS, count_watched_gpus, render_counters
from gpustack.steps.gpu.hosts import build_hosts_result, count_host_gpus, map_gpu_nodes
from gpustack.steps.gpu.metrics_objects import MONITOR_NAME, build_monitor, select_monitor
from gpustack.steps.step import Step, check_where
from gpustack.times import parse_duration
from gpustack.vocabulary.alert_needs import (
    XID_COUNT,
    describe_sources_of_xids,
    list_needed_labels,
    list_silent_groups,
)

MOST_NAMES = 5
"""The names of counters that a line of a plan has of each kind."""


def csv(view: View) -> Result | None:
    """The exporter is configured to export the counters of gpustack, and those of the spec."""
    expected_csv, actual_csv = render_counters(view), view[COUNTERS_FACT].get(COUNTERS)
    if actual_csv == expected_csv:
        return None
    difference = describe_counters(expected_csv, actual_csv) if actual_csv else "nothing"
    return Result(f"ConfigMap {COUNTERS}", "gpustack's counters", difference)


def describe_counters(expected_csv: str, actual_csv: str) -> str:
    """Describe how a list of counters differs: by the counters that it lacks, has as well, or has with another type or
    help, at most MOST_NAMES of each."""
    expected_rows, actual_rows = index_counters(expected_csv), index_counters(actual_csv)
    names_by_kind = {
        "without": [name for name in expected_rows if name not in actual_rows],
        "also with": [name for name in actual_rows if name not in expected_rows],
        "with another type or help of": [
            name for name in expected_rows if expected_rows[name] != actual_rows.get(name, expected_rows[name])
        ],
    }
    parts = [f"{kind} {shorten_names(names)}" for kind, names in names_by_kind.items() if names]
    return "; ".join(parts) or "the same counters in another order or with other comments"


def index_counters(csv_text: str) -> dict[str, str]:
    """Index the rows of dcgm-exporter's list by the names of their fields, without comments."""
    rows = [row.strip() for row in csv_text.splitlines()]
    return {row.partition(",")[0].strip(): row for row in rows if row and not row.startswith("#")}


def shorten_names(names: Sequence[str]) -> str:
    remaining_count = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {remaining_count} more" if remaining_count > 0 else "")


def monitor(view: View) -> Result | None:
    """Prometheus finds the exporter through exactly one ServiceMonitor."""
    expected_monitor, monitors = select_monitor(view), view[MONITORS] or ()
    if expected_monitor not in monitors:
        return Result(
            "ServiceMonitor of the exporter",
            expected_monitor.name,
            format_value([service_monitor.name for service_monitor in monitors]),
        )
    managed_monitors = {Monitor(view.spec.gpu.namespace, name) for name in (EXPORTER, MONITOR_NAME)}
    foreign_monitors = [service_monitor for service_monitor in monitors if service_monitor not in managed_monitors]
    if foreign_monitors:
        names = format_value(
            [f"{service_monitor.namespace}/{service_monitor.name}" for service_monitor in foreign_monitors]
        )
        hint = Command(
            "kubectl",
            "-n",
            foreign_monitors[0].namespace,
            "delete",
            "servicemonitor",
            foreign_monitors[0].name,
            note="if it is not needed",
        )
        return Result("ServiceMonitors of the exporter", "one", f"also {names}", cure="operator", hint=hint)
    if len(monitors) > 1:
        return Result("ServiceMonitors of the exporter", "one", "two, so every GPU counts twice")
    return None


def monitor_content(view: View) -> Result | None:
    """A ServiceMonitor of gpustack has the interval and the relabelings of the spec."""
    expected_monitor = select_monitor(view)
    if expected_monitor.name != MONITOR_NAME or expected_monitor not in (view[MONITORS] or ()):
        return None
    return find_object_mismatch("ServiceMonitors", [build_monitor(view)], view[SERVICE_MONITORS])


def series(view: View) -> Result | None:
    """Prometheus has a recent series of every GPU of every node, or of those of gpu.metrics.devices, by its UUID, from
    one scrape job: the series of a job that is no longer scraped can be queried for five minutes."""
    counts, actual_states = count_host_gpus(view), {}
    age_limit = max(STALE_SECONDS, 3 * parse_duration(view.spec.gpu.metrics.interval))
    by_host: dict[str, list[GpuSeries]] = {}
    for gpu_series in view[SERIES]:
        by_host.setdefault(gpu_series.host, []).append(gpu_series)
    for host, node in map_gpu_nodes(view).items():
        count = count_watched_gpus(view.spec.gpu.metrics.devices, counts[host])
        host_series = by_host.get(node.name, [])
        uuids = {gpu_series.uuid for gpu_series in host_series if gpu_series.age < age_limit}
        newest_age = min((gpu_series.age for gpu_series in host_series), default=0)
        jobs = {gpu_series.job for gpu_series in host_series if gpu_series.age < newest_age + STALE_SECONDS}
        if len(uuids) != count:
            actual_states[host] = f"{len(uuids)} of {count}"
        elif len(jobs) > 1:
            actual_states[host] = f"each from {len(jobs)} jobs: {format_value(jobs)}"
    return build_hosts_result("GPUs in Prometheus", "all, each once", actual_states, passing=True)


def silent_alerts(view: View) -> Result | None:
    """Prometheus has what each alert needs to fire, of each model of GPU. An alert that lacks a field or a label is as
    quiet as a healthy one; boards differ in what they have, so it is named, and is no failure. Where no GPU has a
    series, the check before says so."""
    inputs = view[ALERT_INPUTS]
    if not inputs.fields:
        return build_ok_result("alerts that cannot fire", "all that read a GPU: Prometheus has no series of one")
    words = []
    for model, fields in inputs.fields.items():
        if XID_COUNT not in fields:
            words.append(f"Xids of {model}: {describe_sources_of_xids(fields)}")
        groups = list_silent_groups(fields | inputs.other_words | list_needed_labels())
        words += [f"{', '.join(alerts)} of {model}: no {missing_series}" for missing_series, alerts in groups.items()]
    return build_ok_result("alerts that cannot fire", "; ".join(words)) if words else None


def temporary(view: View) -> Result | None:
    """The GPUs have no temporary change, by `--for` or as profiling that is paused: what gpustack changes so stands on
    the node with a deadline and the values before, and the first command of `gpustack gpu` that asks host engines after
    that puts it back. To end it earlier, set it again without `--for`, or resume profiling. A load of `gpustack gpu
    burn` or a test is none before its deadline: it ends by itself."""
    parsed_marks = {
        place: mark
        for place, text in view[MARKS].items()
        if not is_running_load(mark := parse_mark(*place, text, view.started_at))
    }
    if not parsed_marks:
        return None
    words = [
        f"{node}: {mark.description if mark else f'{change}, no mark of gpustack: {view[MARKS][node, change]}'}"
        for (node, change), mark in parsed_marks.items()
    ]
    is_late = any(mark and mark.overdue for mark in parsed_marks.values())
    hint = (
        Command("gpustack", "gpu", "config", "show", note="puts back what is overdue")
        if is_late
        else Command("gpustack", "explain", "gpu-metrics")
    )
    return Result("temporary changes of GPUs", "none", "; ".join(words), "operator", hint=hint)


def is_running_load(mark: Mark | None) -> bool:
    """Tell whether a mark is that of a load which has its time still."""
    return mark is not None and mark.kind == LOAD and not mark.overdue


STEP = Step(
    "gpu-metrics",
    scope="cluster",
    probes=(COUNTERS_FACT, MONITORS, SERVICE_MONITORS, GPU_NODES, IDENTITY, GPU_DEVICES, SERIES, ALERT_INPUTS, MARKS),
    checks=check_where(count_host_gpus, csv, monitor, monitor_content, series, silent_alerts, temporary),
    needs=("monitoring", "gpu-operator", "gpu-plugin"),
    settle_seconds=180,
    is_enabled=lambda inventory: inventory.spec.monitoring.enabled,
    interrupts="the exporter may be made anew; its series pause",
)
