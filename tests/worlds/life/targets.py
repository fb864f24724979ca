"""Targets of Prometheus: when it could scrape them, and which labels they had then.

Traps: kube-state-metrics is restarted, which is a gap and another `instance`; an exporter's pod is replaced, also by
one with a newer driver, so that every series of its GPUs goes on under other labels; an exporter is restarted in its
pod, or slow: scrapes fail; Prometheus itself is down, for hours in one life of five, without stale markers; a second
ServiceMonitor scrapes all exporters for some weeks under another `job` (the GPU Operator deletes or overwrites one of
its own name only: controllers/object_controls.go); a second kube-state-metrics runs for a while.

A series that a scrape no longer has gets a stale marker, as do all of a target whose scrape failed or that is gone
(https://prometheus.io/docs/prometheus/latest/querying/basics/#staleness).
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from tests.worlds.life.clock import DAY, MINUTE, Span, merge_spans, stream, subtract_spans
from tests.worlds.life.hardware import Node

Labels = Mapping[str, str]


@dataclass(frozen=True)
class Window:
    """Scrapes from `first` until before `last`, by number; `stale`: the next one failed, or found the target gone."""

    first: int
    last: int
    labels: Labels
    stale: bool


@dataclass(frozen=True)
class Target:
    """`generations`: its pods, with their spans and labels. `failing`: spans in which scrapes time out, `down_spans`:
    those without Prometheus. Scrapes are at `phase` seconds; `lag`: how old values are then."""

    generations: Sequence[tuple[float, float, Labels]]
    failing: Sequence[Span]
    down_spans: Sequence[Span]
    phase: int
    lag: int = 0

    def list_windows(self, start: float, end: float, step: int) -> list[Window]:
        """Scrapes are at start + phase + number * step."""
        holes, windows = sorted([*self.failing, *self.down_spans]), []
        for begin, last, labels in self.generations:
            for first, stop in subtract_spans(max(begin, start), min(last, end), merge_spans(holes)):
                numbers = self.number(first, start, step), self.number(stop, start, step)
                cut_by_us = stop == end or any(begin <= stop < down_end for begin, down_end in self.down_spans)
                if numbers[0] < numbers[1]:
                    windows.append(Window(*numbers, labels, stale=not cut_by_us))
        return windows

    def number(self, moment: float, start: float, step: int) -> int:
        """Compute the number of the first scrape that is not before a time."""
        return ceil((moment - start - self.phase) / step)


@dataclass(frozen=True)
class Scrapes:
    """`down_spans`: spans in which Prometheus did not run."""

    kube_state: Sequence[Target]
    exporters: Mapping[str, Sequence[Target]]
    down_spans: Sequence[Span]

    def list_gaps(self, begin: float, end: float) -> list[Span]:
        """Spans of this time in which no kube-state-metrics was scraped."""
        spans = [
            span
            for target in self.kube_state
            for begin, end, _ in target.generations
            for span in subtract_spans(begin, end, merge_spans([*target.failing, *target.down_spans]))
        ]
        return subtract_spans(begin, end, merge_spans(spans))


def draw_scrapes(seed: int, nodes: Sequence[Node], start: float, end: float) -> Scrapes:
    """Draw the scrapes; they do not depend on `end`."""
    rng = stream(seed, "scrapes")
    outages = [build_outage(start + rng.uniform(1, 59) * DAY, rng.uniform(5, 40)) for _ in range(rng.randint(1, 3))]
    if rng.random() < 0.2:
        outages.append(build_outage(start + rng.uniform(5, 55) * DAY, rng.uniform(120, 360)))
    down_spans = merge_spans(outages)
    kube_state = [draw_kube_state_target(seed, 0, start, end, down_spans)]
    if rng.random() < 0.25:
        begin = start + rng.uniform(5, 40) * DAY
        kube_state.append(draw_kube_state_target(seed, 1, begin, begin + rng.uniform(1, 15) * DAY, down_spans))
    double_start = start + rng.uniform(3, 25) * DAY
    monitors = [("nvidia-dcgm-exporter", start, end)]
    if rng.random() < 0.5:
        monitors.append(("gpustack-dcgm", double_start, min(end, double_start + rng.uniform(5, 30) * DAY)))
    exporters = {
        node.name: [draw_exporter_target(seed, node, *monitor, start, down_spans) for monitor in monitors]
        for node in nodes
    }
    return Scrapes(kube_state, exporters, down_spans)


def build_outage(begin: float, minutes: float) -> Span:
    return float(int(begin)), float(int(begin + minutes * MINUTE))


def draw_kube_state_target(seed: int, number: int, begin: float, end: float, down_spans: Sequence[Span]) -> Target:
    """Draw the target of kube-state-metrics. Its ServiceMonitor has honorLabels, so `pod` and `namespace` are those of
    what it tells about."""
    rng, generations, moment, pod = stream(seed, "kube-state-metrics", number), [], begin, 0
    failing = [build_outage(begin + rng.uniform(0, 60) * DAY, rng.uniform(1, 6)) for _ in range(rng.randint(2, 8))]
    phase = rng.randrange(60)
    while moment < end:
        last = moment + rng.uniform(6, 30) * DAY // 1
        pod += 1
        labels = {"job": "kube-state-metrics", "instance": f"10.244.0.{10 * number + pod}:8080", "endpoint": "http",
                  "service": "kps-kube-state-metrics"}  # fmt: skip
        generations.append((moment, min(last, end), labels))
        moment = last + rng.randint(15, 150)
    return Target(generations, failing, down_spans, phase=phase)


def draw_exporter_target(
    seed: int, node: Node, job: str, begin: float, end: float, start: float, down_spans: Sequence[Span]
) -> Target:
    """The pods are the same for both monitors, the moments of scrapes are not."""
    rng, generations = stream(seed, "exporter", node.name), []
    driver, upgrade = "580.105.08", start + rng.uniform(10, 50) * DAY
    failing = [build_outage(start + rng.uniform(0, 60) * DAY, rng.uniform(0.5, 10)) for _ in range(rng.randint(1, 6))]
    for join, leave in node.up_spans:
        changes = sorted({upgrade, start + rng.uniform(0, 60) * DAY})
        for first, last in cut_at(join + 90, leave, [change // 1 for change in changes], rng.randint(20, 200)):
            pod = f"nvidia-dcgm-exporter-{rng.getrandbits(20):05x}"
            version = "595.91.07" if first >= upgrade else driver
            labels = {
                "job": job, "instance": f"10.244.{rng.randrange(1, 250)}.{rng.randrange(2, 250)}:9400",
                "namespace": "gpu-operator", "pod": pod, "container": "nvidia-dcgm-exporter",
                "endpoint": "gpu-metrics", "service": job, "DCGM_FI_DRIVER_VERSION": version,
            }  # fmt: skip
            if max(first, begin) < min(last, end):
                generations.append((max(first, begin), min(last, end), labels))
    phases = stream(seed, "phase", node.name, job)
    return Target(generations, failing, down_spans, phase=phases.randrange(60), lag=phases.randrange(30))


def cut_at(begin: float, end: float, moments: Sequence[float], gap: float) -> list[Span]:
    """A span in parts, with a gap after each moment within."""
    holes = [(moment, moment + gap) for moment in moments if begin < moment < end]
    return subtract_spans(begin, end, merge_spans(holes))


def find_window(windows: Sequence[Window], number: int) -> int:
    """Place of the first window that may have this scrape or a later one."""
    return max(0, bisect_right(windows, number, key=lambda window: window.first) - 1)
