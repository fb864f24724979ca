"""Where hours come from: recorded series, or raw ones by the expressions of their rules; asked by the hour."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gpustack.capacity import raw
from gpustack.capacity.window import HOUR, Window, moment
from gpustack.command import Command, Prose
from gpustack.config import usage_series as series
from gpustack.errors import UsageError
from gpustack.files.json_text import dump_json
from gpustack.metrics.prometheus import Prometheus

CHUNK = 7 * 24 * HOUR
"""What one query is of: an answer stays small, and within the server's limits."""
AFFORDABLE = 25_000
"""GPU-hours that a Prometheus is asked to compute out of raw series."""
RECORDED = "recorded series (gpustack-usage)"
RAW = f"raw series, every {raw.INTERVAL // 60} minutes (no recording rules there)"

Hourly = dict[int, float]
"""By the hour's begin."""


@dataclass(frozen=True)
class Source:
    """`team_label` is that of kube-state-metrics. `cluster` chooses one of several, in Thanos or Mimir."""

    prometheus: Prometheus
    window: Window
    team_label: str
    cluster: str
    recorded: bool

    @property
    def shown(self) -> str:
        return RECORDED if self.recorded else RAW

    def select(self, metric: str, matchers: str = "") -> str:
        """A selector of the chosen cluster."""
        cluster = f"cluster={dump_json(self.cluster)}" if self.cluster else ""
        chosen = ",".join(filter(None, (matchers, cluster)))
        return f"{metric}{{{chosen}}}" if chosen else metric

    def hourly(self, function: str, name: str, by: str) -> Iterator[tuple[Mapping[str, str], Hourly]]:
        """`function`, as sum_over_time, of each hour of a recorded name; a second copy of a series does not count."""
        if self.recorded:
            inner = f"{self.select(name)}[{series.HOUR}]"
        else:
            inner = f"({raw.expand(name, self.team_label)})[{series.HOUR}:{raw.INTERVAL}s]"
        yield from self.ask(f"max by ({', '.join(filter(None, ('cluster', by)))}) ({function}({inner}))")

    def ask(self, expr: str) -> Iterator[tuple[Mapping[str, str], Hourly]]:
        """Once for each week and series. Raises UsageError where several clusters answer."""
        clusters: set[str] = set()
        for begin in range(self.window.begin, self.window.end, CHUNK):
            end = min(begin + CHUNK, self.window.end)
            for one in self.prometheus.range(expr, begin + HOUR, end, HOUR).series:
                clusters.add(one.labels.get("cluster", ""))
                yield one.labels, {int(at) - HOUR: value for at, value in one.points}
        if len(clusters) > 1:
            why = f"It has series of {', '.join(sorted(name or '(none)' for name in clusters))}."
            raise UsageError(
                "capacity-clusters", f"{self.prometheus.access.url} has several clusters.", why, Prose("--cluster NAME")
            )


def choose(prometheus: Prometheus, window: Window, team_label: str, cluster: str) -> Source:
    """Recorded series where there are any within the window. Raises UsageError where there are none, and too many GPUs
    for raw ones, or no kube-state-metrics."""
    url, end = prometheus.access.url, float(window.end)
    length = window.end - window.begin
    if prometheus.instant(f"count(present_over_time({series.OFFERED}[{length}s]))", end).series:
        return Source(prometheus, window, team_label, cluster, recorded=True)
    # Within the window: what is asked about may be a cluster that is gone by now.
    offered = f"sum(max_over_time(({raw.expand(series.OFFERED)})[{length}s:{HOUR}s]))"
    found = prometheus.instant(offered, end).series
    if not found:
        message = f"{url} does not know what GPUs nodes offered before {moment(end)} UTC."
        why = "It has no kube_node_status_capacity of GPUs: no kube-state-metrics is scraped, or nodes offer none."
        if prometheus.instant(f"count({raw.expand(series.OFFERED)})").series:
            why = "It knows them only since then: whole hours are counted, so ask again after the next hour has begun."
        raise UsageError("capacity-no-requests", message, why, Command("gpustack", "doctor"))
    units = found[0].points[-1][1]
    if units * window.hours > AFFORDABLE:
        message = f"{url} has no recorded series of usage before {moment(end)} UTC."
        why = (
            f"Out of raw series, {units:.0f} GPUs for {window.hours} hours would be too much work for it: up to "
            f"{AFFORDABLE} GPU-hours are computed. The rules are installed by the step alerts; other servers take them "
            "from values/rules/gpu-recording.yaml."
        )
        raise UsageError("capacity-no-rules", message, why, Command("gpustack", "install", "--only", "alerts"))
    return Source(prometheus, window, team_label, cluster, recorded=False)
