"""Hours of GPUs out of a Prometheus: each series once, hour by hour, added up as it is read."""

from collections.abc import Mapping
from dataclasses import replace

from gpustack.capacity.clock import Clock, find_gaps, read_clock
from gpustack.capacity.doubts import doubts_of
from gpustack.capacity.source import Source
from gpustack.capacity.table import Table
from gpustack.capacity.usage import Queue, Usage
from gpustack.config import usage_series as series
from gpustack.config.sections.usage import series_label

MEASURED = {series.ATTRIBUTED: "attributed", series.ACTIVE: "active", series.IDLE: "idle"}


def read_usage(source: Source, *, pool_label: str = "", renamed: Mapping[str, str] | None = None) -> Usage:
    """Raises UsageError where samples are closer together than they say, and for several clusters."""
    clock = read_clock(source)
    table = Table(clock, dict(renamed or {}))
    for labels, hourly in source.hourly("sum_over_time", series.GPUS, "node, modelName"):
        table.add_gpus(labels.get("node", ""), labels.get("modelName", ""), hourly)
    if pool_label:
        label = series_label(pool_label)
        for labels, hourly in source.ask(pools_of(label, source)):
            table.pools.add_word(labels.get("node", ""), labels[label], hourly)
    for labels, hourly in source.hourly("avg_over_time", series.UNIT, "node, resource"):
        table.units.add((labels.get("node", ""), labels["resource"]), hourly)
    for labels, hourly in source.hourly("sum_over_time", series.OFFERED, "node, resource"):
        table.add_offered(labels, hourly)
    for labels, hourly in source.hourly("sum_over_time", series.ALLOCATED, "node, namespace, team, resource"):
        table.add_allocated(labels, hourly)
    for name, column in MEASURED.items():
        for labels, hourly in source.hourly("sum_over_time", name, "node, GPU_I_PROFILE, namespace, team"):
            table.add_measured(column, labels, hourly)
    window = source.window
    found = Usage(
        begin=window.begin,
        end=window.end,
        hours=table.settled(),
        queue=read_queue(source, clock, table),
        asked=window.hours,
        recorded=sum(clock.recorded.values()),
        bridged=clock.bridged,
        gaps=tuple(find_gaps(window.begin, window.end, clock.recorded)),
        source=source.shown,
        shared=table.shared,
    )
    return replace(found, doubts=tuple(doubts_of(found)))


def pools_of(label: str, source: Source) -> str:
    labels = source.select("kube_node_labels", f'{label}!=""')
    return f"max by (cluster, node, {label}) (max_over_time({labels}[1h]))"


def read_queue(source: Source, clock: Clock, table: Table) -> tuple[Queue, ...]:
    """By namespace and team, those that waited."""
    found: dict[tuple[str, str], Queue] = {}
    for labels, hourly in source.hourly("sum_over_time", series.QUEUED, "namespace, team, resource"):
        key = labels.get("namespace", ""), table.team_of(labels)
        units = sum(value * clock.requests.get(hour, 0.0) for hour, value in hourly.items())
        one = found.get(key, Queue(*key))
        found[key] = replace(one, waited_units=one.waited_units + units)
    for name, column in ((series.SCHEDULED, "scheduled"), (series.WAITED, "waited")):
        for labels, hourly in source.hourly("sum_over_time", name, "namespace"):
            key = labels.get("namespace", ""), ""
            one = found.get(key, Queue(*key))
            found[key] = replace(one, **{column: getattr(one, column) + sum(hourly.values())})
    return tuple(found[key] for key in sorted(found))
