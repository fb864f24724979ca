"""Demand of pools from a Prometheus, by recorded series of gpustack or by the expressions of their rules.

So history from before the installation of the rules counts, and any Prometheus with kube-state-metrics will do. Values
are means of hours. A query is of a week: it has at most 50 million samples in memory (--query.max-samples of
Prometheus).
"""

from functools import cache
from math import isfinite

from gpustack.config.resources import locate_shipped_values, read_shipped_yaml
from gpustack.errors import MissingDataError
from gpustack.files.json_text import dump_json
from gpustack.forecast.demand import Demand
from gpustack.metrics.prometheus import Prometheus
from gpustack.times import DAY, HOUR, format_day

SAMPLE_INTERVAL = "5m"
WEEK = 7 * DAY
AGGREGATION = "sum by (resource)"
Table = dict[str, dict[int, float]]
"""Values by resource, then by the second at which the hour begins."""


def query_demands(prometheus: Prometheus, seconds: float, nodes: str = "", resource: str = "") -> tuple[Demand, ...]:
    """Query the demand of each pool, which is a resource of nodes, for these seconds until the last midnight of UTC.
    With a pattern of nodes the queue is left out, because it belongs to no node. Raise MissingDataError where there is
    none."""
    end = int(prometheus.fetch_time() // DAY * DAY)
    begin = end - int(seconds // DAY * DAY)
    allocated_gpus, queued_gpus, capacity = (
        query_hours(prometheus, expr, begin, end) for expr in build_expressions(nodes)
    )
    pools = [pool for pool in sorted(capacity) if resource in ("", pool)]
    if not pools:
        message = f"{prometheus.access.url} knows no {resource or 'GPUs'} of nodes before {format_day(end)} 00:00 UTC."
        reason = (
            "Whole days are read, and it may have none yet; or kube-state-metrics is not scraped, no node offers any, "
            "or the name or the pattern is another."
        )
        raise MissingDataError("forecast-nothing", message, reason)
    hours = range(begin, end, HOUR)
    return tuple(build_demand(pool, hours, allocated_gpus, {} if nodes else queued_gpus, capacity) for pool in pools)


def build_demand(pool: str, hours: range, allocated_gpus: Table, queued_gpus: Table, capacity: Table) -> Demand:
    allocated_hours, queued_hours, offered_hours = (
        [table.get(pool, {}).get(hour) for hour in hours] for table in (allocated_gpus, queued_gpus, capacity)
    )
    return Demand(pool, hours.start, allocated_hours, queued_hours, offered_hours, whole_queue=any(queued_hours))


def build_expressions(nodes: str) -> tuple[str, str, str]:
    """Build the expressions of allocated, queued and allocatable GPUs."""
    node_filter = f" and on (node) kube_node_status_allocatable{{node=~{dump_json(nodes)}}}" if nodes else ""
    allocatable = f"{expand_rule('gpustack:node_gpu_allocatable:count')}{node_filter}"
    zero = f"{AGGREGATION} ({allocatable}) * 0"
    ready_rule, cordoned_rule = expand_rule("gpustack:node_ready:bool"), expand_rule("gpustack:node_cordoned:bool")
    return (
        f"{AGGREGATION} ({expand_rule('gpustack:node_gpu_requested:count')}{node_filter}) or {zero}",
        f"{AGGREGATION} ({expand_rule('gpustack:pod_gpus_pending:count')}) or {zero}",
        f"{AGGREGATION} ({allocatable} and on (node) {ready_rule} == 1 unless on (node) {cordoned_rule} == 1)",
    )


@cache
def expand_rule(name: str) -> str:
    """Expand a recorded name to itself, or else the expression of its rule."""
    groups = read_shipped_yaml(locate_shipped_values() / "rules" / "gpu-recording.yaml")["groups"]
    (expression,) = (entry["expr"] for group in groups for entry in group["rules"] if entry["record"] == name)
    return f"({name} or {expression})"


def query_hours(prometheus: Prometheus, expr: str, begin: int, end: int) -> Table:
    table: Table = {}
    for first in range(begin, end, WEEK):
        last = min(first + WEEK, end)
        query = f"avg_over_time(({expr})[1h:{SAMPLE_INTERVAL}])"
        for series in prometheus.query_range(query, first + HOUR, last, HOUR):
            hours = table.setdefault(series.labels.get("resource", ""), {})
            hours |= {round(time) - HOUR: demand for time, demand in series.points if isfinite(demand)}
    return table
