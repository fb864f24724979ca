"""Demand of pools from a Prometheus: of our recorded series, and where there are none, of kube-state-metrics by the
same rules. So history from before their installation counts, and any Prometheus will do.

Each hour is a mean. It is asked for in weeks: a query has at most 50 million samples in memory (--query.max-samples of
Prometheus).
"""

from datetime import UTC, datetime
from functools import cache

from gpustack.command import Command
from gpustack.config.resources import shipped_yaml, values
from gpustack.errors import UsageError
from gpustack.files.json_text import dump_json
from gpustack.forecast.demand import DAY, HOUR, Demand
from gpustack.metrics.prometheus import Prometheus

SAMPLED = "5m"
WEEK = 7 * DAY
BY = "sum by (resource)"
Table = dict[str, dict[int, float]]
"""By resource, then by the second at which the hour begins."""


def read_demands(prometheus: Prometheus, seconds: float, nodes: str = "", resource: str = "") -> tuple[Demand, ...]:
    """Of each pool, which is a resource of nodes, for that long until the last midnight of UTC. With a pattern of nodes
    without what is queued, which is of no node. Raises UsageError where there is none."""
    end = int(prometheus.now() // DAY * DAY)
    begin = end - int(seconds // DAY * DAY)
    allocated, queued, capacity = (read_hours(prometheus, expr, begin, end) for expr in expressions(nodes))
    pools = [pool for pool in sorted(capacity) if resource in ("", pool)]
    if not pools:
        day = datetime.fromtimestamp(end, UTC)
        message = f"{prometheus.access.url} knows no {resource or 'GPUs'} of nodes before {day:%Y-%m-%d} 00:00 UTC."
        why = (
            "Whole days are read, and it may have none yet; or kube-state-metrics is not scraped, no node offers any, "
            "or the name or the pattern is another."
        )
        raise UsageError("forecast-nothing", message, why, Command("gpustack", "gpu", "list"))
    hours = range(begin, end, HOUR)
    return tuple(make_demand(pool, hours, allocated, {} if nodes else queued, capacity) for pool in pools)


def make_demand(pool: str, hours: range, allocated: Table, queued: Table, capacity: Table) -> Demand:
    taken, waiting, offered = (
        [table.get(pool, {}).get(hour) for hour in hours] for table in (allocated, queued, capacity)
    )
    return Demand(pool, hours.start, taken, waiting, offered, whole_queue=any(waiting))


def expressions(nodes: str) -> tuple[str, str, str]:
    """GPUs allocated, queued and that can be allocated."""
    chosen = f" and on (node) kube_node_status_allocatable{{node=~{dump_json(nodes)}}}" if nodes else ""
    offered = f"{rule('gpustack:node_gpu_allocatable:count')}{chosen}"
    none = f"{BY} ({offered}) * 0"
    ready, cordoned = rule("gpustack:node_ready:bool"), rule("gpustack:node_cordoned:bool")
    return (
        f"{BY} ({rule('gpustack:node_gpu_requested:count')}{chosen}) or {none}",
        f"{BY} ({rule('gpustack:pod_gpus_pending:count')}) or {none}",
        f"{BY} ({offered} and on (node) {ready} == 1 unless on (node) {cordoned} == 1)",
    )


@cache
def rule(name: str) -> str:
    """What is recorded by that name, else its expression."""
    groups = shipped_yaml(values() / "rules" / "gpu-recording.yaml")["groups"]
    (found,) = (one["expr"] for group in groups for one in group["rules"] if one["record"] == name)
    return f"({name} or {found})"


def read_hours(prometheus: Prometheus, expr: str, begin: int, end: int) -> Table:
    found: Table = {}
    for first in range(begin, end, WEEK):
        last = min(first + WEEK, end)
        for series in prometheus.range(f"avg_over_time(({expr})[1h:{SAMPLED}])", first + HOUR, last, HOUR).series:
            hours = found.setdefault(series.labels.get("resource", ""), {})
            hours |= {round(at) - HOUR: value for at, value in series.points}
    return found
