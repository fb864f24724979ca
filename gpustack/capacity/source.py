"""The source of hours: recorded series, or raw ones by the expressions of their rules."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from gpustack.capacity import raw_rules
from gpustack.capacity.window import Window
from gpustack.errors import InputError, MissingDataError
from gpustack.files.json_text import dump_json
from gpustack.metrics.prometheus import Prometheus
from gpustack.times import HOUR, format_minute
from gpustack.vocabulary import usage_series as series

CHUNK = 7 * 24 * HOUR
"""Seconds of one query: an answer stays small, and within the server's limits."""
RAW_HOURS_LIMIT = 25_000
"""GPU-hours that a Prometheus is asked to compute from raw series."""
RECORDED_SOURCE = "recorded series (gpustack-usage)"
RAW_SOURCE = f"raw series, every {raw_rules.INTERVAL // 60} minutes (no recording rules there)"

ROUNDING = 1e-6
"""The amount by which a sum of numbers that cancel each other may be below zero."""
SAMPLES = 3600.0
"""Samples in an hour, at most."""
FUNCTIONS: Mapping[str, Callable[[float, float], tuple[float, float]]] = {
    "avg_over_time": lambda low, high: (low, high),
    "sum_over_time": lambda low, high: (low, high * SAMPLES),
    "count_over_time": lambda _low, _high: (1.0, SAMPLES),
}
"""The least and the most that a function of an hour is, by those of a sample."""

Hourly = dict[int, float]
"""A value by the begin of its hour."""


@dataclass(frozen=True)
class Source:
    """Describe the source of a window. `team_label` is that of kube-state-metrics. `cluster` chooses one of several, in
    Thanos or Mimir. `impossible_hours` counts by series the hours whose value cannot be: no number, or out of its
    limits."""

    prometheus: Prometheus
    window: Window
    team_label: str
    cluster: str
    recorded: bool
    impossible_hours: Counter[str] = field(default_factory=Counter)

    @property
    def description(self) -> str:
        return RECORDED_SOURCE if self.recorded else RAW_SOURCE

    def select(self, metric: str, matchers: str = "") -> str:
        """Build a selector of the chosen cluster."""
        cluster = f"cluster={dump_json(self.cluster)}" if self.cluster else ""
        all_matchers = ",".join(filter(None, (matchers, cluster)))
        return f"{metric}{{{all_matchers}}}" if all_matchers else metric

    def query_hours(self, function: str, name: str, group_labels: str) -> Iterator[tuple[Mapping[str, str], Hourly]]:
        """Query each hour of a recorded name by a function, as sum_over_time. A second copy of a series does not
        count."""
        if self.recorded:
            inner = f"{self.select(name)}[{series.HOUR}]"
        else:
            inner = f"({raw_rules.expand_names(name, self.team_label)})[{series.HOUR}:{raw_rules.INTERVAL}s]"
        low, high = FUNCTIONS[function](*series.LIMITS.get(name, series.UNITS))
        low -= ROUNDING
        expr = f"max by ({', '.join(filter(None, ('cluster', group_labels)))}) ({function}({inner}))"
        for labels, hourly in self.query_chunks(expr):
            possible_hours = {hour: value for hour, value in hourly.items() if low <= value <= high}
            if len(possible_hours) < len(hourly):
                self.impossible_hours[name] += len(hourly) - len(possible_hours)
            yield labels, possible_hours

    def query_chunks(self, expr: str) -> Iterator[tuple[Mapping[str, str], Hourly]]:
        """Query an expression by hour, and yield labels and values once for each week and series. Raise InputError
        where several clusters answer."""
        clusters: set[str] = set()
        for begin in range(self.window.begin, self.window.end, CHUNK):
            end = min(begin + CHUNK, self.window.end)
            for result in self.prometheus.query_range(expr, begin + HOUR, end, HOUR):
                clusters.add(result.labels.get("cluster", ""))
                yield result.labels, {int(time) - HOUR: value for time, value in result.points}
        if len(clusters) > 1:
            reason = f"It has series of {', '.join(sorted(name or '(none)' for name in clusters))}."
            raise InputError("capacity-clusters", f"{self.prometheus.access.url} has several clusters.", reason)


def choose_source(prometheus: Prometheus, window: Window, team_label: str, cluster: str) -> Source:
    """Choose recorded series where there are any within the window. Raise MissingDataError where there are none,
    and too many GPUs for raw ones, or no kube-state-metrics."""
    end = float(window.end)
    length = window.end - window.begin
    if prometheus.query_instant(f"count(present_over_time({series.OFFERED_UNITS}[{length}s]))", end):
        return Source(prometheus, window, team_label, cluster, recorded=True)
    # Within the window: what is asked about may be a cluster that is gone by now.
    offer_query = f"sum(max_over_time(({raw_rules.expand_names(series.OFFERED_UNITS)})[{length}s:{HOUR}s]))"
    offers = prometheus.query_instant(offer_query, end)
    if not offers:
        message = f"Prometheus does not know what GPUs nodes offered before {format_minute(end)} UTC."
        reason = "It has no kube_node_status_capacity of GPUs: no kube-state-metrics is scraped, or nodes offer none."
        if prometheus.query_instant(f"count({raw_rules.expand_names(series.OFFERED_UNITS)})"):
            full_hour = format_minute(end + HOUR)
            reason = f"It knows them only since then, and whole hours are counted: ask again at {full_hour} UTC."
            raise MissingDataError("capacity-no-hour", message, reason)
        raise MissingDataError("capacity-no-requests", message, reason)
    units = offers[0].points[-1][1]
    if units * window.hours > RAW_HOURS_LIMIT:
        message = f"{prometheus.access.url} has no recorded series of usage before {format_minute(end)} UTC."
        reason = (
            f"Out of raw series, {units:.0f} GPUs for {window.hours} hours would be too much work for it: up to "
            f"{RAW_HOURS_LIMIT} GPU-hours are computed. The rules are installed by the step alerts; other servers take "
            "them from values/rules/gpu-recording.yaml."
        )
        raise MissingDataError("capacity-no-rules", message, reason)
    return Source(prometheus, window, team_label, cluster, recorded=False)
