"""GPU-hours from a Prometheus: each series is queried once, hour by hour, and added up."""

from collections.abc import Mapping
from dataclasses import replace

from gpustack.capacity.clock import Clock, find_gaps, query_clock
from gpustack.capacity.contradictions import query_contradictions
from gpustack.capacity.current import query_current_state
from gpustack.capacity.doubts import find_doubts
from gpustack.capacity.source import Source, choose_source
from gpustack.capacity.state import Capacity
from gpustack.capacity.table import UsageTable
from gpustack.capacity.usage import Queue, Usage, group_hours
from gpustack.capacity.window import Window
from gpustack.config.sections.usage import Capacity as Spec
from gpustack.metrics.prometheus import Prometheus, require_label
from gpustack.times import HOUR
from gpustack.vocabulary import usage_series as series
from gpustack.vocabulary.usage_series import format_series_label

MEASURED_COLUMNS = {series.ATTRIBUTED_UNITS: "attributed", series.ACTIVE_UNITS: "active", series.IDLE_UNITS: "idle"}


def read_capacity(
    prometheus: Prometheus, window: Window, spec: Spec, cluster: str, dimensions: tuple[str, ...]
) -> Capacity:
    """Read the usage of a window, grouped by dimensions, and the current state. Raise the errors of read_usage."""
    source = choose_source(prometheus, window, format_series_label(spec.team_label), cluster)
    usage = query_usage(source, pool_label=spec.pool_label, renames=spec.renamed)
    return Capacity(usage, dimensions, group_hours(usage, dimensions), query_current_state(source, usage.units))


def read_usage(prometheus: Prometheus, window: Window, spec: Spec, cluster: str) -> Usage:
    """Read the usage of a window. Raise MissingDataError where the Prometheus has no hours of it, and InputError where
    it has those of several clusters."""
    source = choose_source(prometheus, window, format_series_label(spec.team_label), cluster)
    return query_usage(source, pool_label=spec.pool_label, renames=spec.renamed)


def query_usage(source: Source, *, pool_label: str = "", renames: Mapping[str, str] | None = None) -> Usage:
    """Query the usage of a window. Raise MissingDataError where samples are closer together than they say, and
    InputError for several clusters."""
    clock = query_clock(source)
    table = UsageTable(clock, dict(renames or {}))
    for labels, hourly in source.query_hours("sum_over_time", series.GPUS, "node, modelName"):
        table.add_gpus(labels.get("node", ""), labels.get("modelName", ""), hourly)
    if pool_label:
        label = series.format_series_label(pool_label)
        for labels, hourly in source.query_chunks(build_pool_query(label, source)):
            table.pools.add_word(labels.get("node", ""), require_label(labels, label), hourly)
    for labels, hourly in source.query_hours("avg_over_time", series.UNIT, "node, resource"):
        table.units.add((labels.get("node", ""), require_label(labels, "resource")), hourly)
    for labels, hourly in source.query_hours("sum_over_time", series.OFFERED_UNITS, "node, resource"):
        table.add_offered(labels, hourly)
    for labels, hourly in source.query_hours(
        "sum_over_time", series.ALLOCATED_UNITS, "node, namespace, team, resource"
    ):
        table.add_allocated(labels, hourly)
    for name, column in MEASURED_COLUMNS.items():
        grouping = f"node, GPU_I_PROFILE, namespace, team, {series.SCOPE}"
        for labels, hourly in source.query_hours("sum_over_time", name, grouping):
            table.add_measured(column, labels, hourly)
    window = source.window
    usage = Usage(
        begin=window.begin,
        end=window.end,
        hours=table.complete_hours(),
        queue=query_queue(source, clock, table),
        window_hours=window.hours,
        recorded_hours=sum(clock.recorded_shares.values()),
        bridged_hours=clock.bridged_hours,
        gaps=tuple(find_gaps(window.begin, window.end, clock.recorded_shares)),
        source=source.description,
        unknown_units=table.unknown_units,
        contradictory_gpus=tuple(query_contradictions(source, clock)),
        units=table.units.find_newest_values(),
        impossible_hours=dict(source.impossible_hours),
        gone_nodes=find_gone_nodes(table.last_hours),
    )
    return replace(usage, doubts=tuple(find_doubts(usage)))


def find_gone_nodes(last_hours: Mapping[str, int]) -> dict[str, int]:
    """Find the nodes that had ended two hours before the last one, with the end of their last hour."""
    end = max(last_hours.values(), default=0)
    return {node: hour + HOUR for node, hour in last_hours.items() if hour < end - HOUR}


def build_pool_query(label: str, source: Source) -> str:
    labels = source.select("kube_node_labels", f'{label}!=""')
    return f"max by (cluster, node, {label}) (max_over_time({labels}[1h]))"


def query_queue(source: Source, clock: Clock, table: UsageTable) -> tuple[Queue, ...]:
    """Query the queues of namespaces and teams whose pods waited."""
    queues: dict[tuple[str, str], Queue] = {}
    for labels, hourly in source.query_hours("sum_over_time", series.QUEUED_UNITS, "namespace, team, resource"):
        key = labels.get("namespace", ""), table.resolve_team(labels)
        units = sum(value * clock.requests.get(hour, 0.0) for hour, value in hourly.items())
        queue = queues.get(key, Queue(*key))
        queues[key] = replace(queue, waited_units=queue.waited_units + units)
    for name, column in ((series.SCHEDULED_PODS, "scheduled_pods"), (series.WAITED_SECONDS, "waited_seconds")):
        for labels, hourly in source.query_hours("sum_over_time", name, "namespace"):
            key = labels.get("namespace", ""), ""
            queue = queues.get(key, Queue(*key))
            queues[key] = replace(queue, **{column: getattr(queue, column) + sum(hourly.values())})
    return tuple(queues[key] for key in sorted(queues))
