"""A Prometheus that recorded the usage of GPUs, minute by minute: spans instead of samples."""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, cast

from gpustack.capacity.source import Source
from gpustack.capacity.window import Window
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.times import HOUR
from gpustack.vocabulary import usage_series as series

BEGIN = 1_790_812_800  # 2026-10-01 00:00 UTC
MINUTE = 60
QUERY = re.compile(r"max by \(([\w, ]*)\) \((\w+)\(([\w:]+)(?:\{.*?\})?\[")
Labels = tuple[tuple[str, str], ...]


class Recorder:
    """`put(name, first, last, value, **labels)` records it for minutes since BEGIN, the last not part of it. `lose`
    takes minutes away: of one name, or of all (Prometheus was down)."""

    def __init__(self, hours: int) -> None:
        self.minutes = hours * 60
        self.spans: dict[str, dict[Labels, list[tuple[int, int, float]]]] = defaultdict(lambda: defaultdict(list))
        self.lost_minutes: list[tuple[str, int, int]] = []
        self.hours: dict[tuple[str, Labels], dict[int, list[tuple[int, float]]]] = {}
        self.put(series.SAMPLE, 0, self.minutes, series.INTERVAL)

    def put(self, name: str, first: int, last: int, value: float, **labels: str) -> None:
        key = tuple(sorted((label, word) for label, word in labels.items() if word))
        self.hours.clear()
        self.spans[name][key].append((first, min(last, self.minutes), value))

    def lose(self, first: int, last: int, *names: str) -> None:
        self.hours.clear()
        self.lost_minutes += [(name, first, last) for name in names or ("",)]

    def record_node(
        self,
        node: str,
        first: int,
        last: int,
        gpus: int,
        model: str = "NVIDIA H100",
        unit: float = 0,
        **units: float,
    ) -> None:
        """`units` are units by resource, without nvidia_com_; a GPU each where there are none. `unit` is what all of
        them are; 0 is what follows from their names and number."""
        self.put(series.GPUS, first, last, gpus, node=node, modelName=model)
        for resource, count in (units or {"gpu": gpus}).items():
            name = f"nvidia_com_{resource}"
            self.put(series.OFFERED_UNITS, first, last, count, node=node, resource=name)
            slices = re.match(r"mig_(\d)g", resource)
            usual = int(slices[1]) / 7 if slices else 1 / max(1, round(count / gpus))
            self.put(series.UNIT, first, last, unit or usual, node=node, resource=name)

    def record_pod(
        self, node: str, namespace: str, first: int, last: int, gpus: float, active: float = 0.9, **labels: str
    ) -> None:
        """`resource`, `profile`, `team`, `scope` are in the labels. It is idle where it is active below 5 %."""
        resource, profile = labels.pop("resource", "nvidia_com_gpu"), labels.pop("profile", "")
        scope = labels.pop(series.SCOPE, "")
        labels_of_pod = {"node": node, "namespace": namespace, **labels}
        self.put(series.ALLOCATED_UNITS, first, last, gpus, resource=resource, **labels_of_pod)
        labels_of_gpu = {"modelName": "NVIDIA H100", "GPU_I_PROFILE": profile, series.SCOPE: scope, **labels_of_pod}
        self.put(series.ATTRIBUTED_UNITS, first, last, gpus, **labels_of_gpu)
        self.put(series.ACTIVE_UNITS, first, last, gpus * active, **labels_of_gpu)
        self.put(series.IDLE_UNITS, first, last, gpus if active < series.IDLE_BELOW else 0, **labels_of_gpu)

    def select_values(self, name: str, key: Labels) -> Mapping[int, list[tuple[int, float]]]:
        """Map the hour to minutes and the value in each of them."""
        if (name, key) not in self.hours:
            minutes_of_series = self.hours[name, key] = defaultdict(list)
            for first, last, value in self.spans[name][key]:
                for hour in range(first // 60, (last + 59) // 60):
                    begin, end = max(first, hour * 60), min(last, hour * 60 + 60)
                    minutes = end - begin - sum(self.find_lost_minutes(name, begin, end))
                    if minutes > 0:
                        minutes_of_series[hour].append((minutes, value))
        return self.hours[name, key]

    def find_lost_minutes(self, name: str, begin: int, end: int) -> Iterator[int]:
        for lost_name, first, last in self.lost_minutes:
            if lost_name in {"", name}:
                yield max(0, min(end, last) - max(begin, first))

    def query_range(self, expr: str, begin: float, end: float, step: float) -> tuple[Series, ...]:
        match = QUERY.match(expr)
        assert match is not None, expr
        label_names, function, name = match.groups()
        values_by_labels: dict[Labels, dict[float, float]] = defaultdict(dict)
        for key in self.spans[name]:
            remaining_labels = tuple(pair for pair in key if pair[0] in label_names.split(", "))
            hours = self.select_values(name, key)
            for moment in range(int(begin), int(end) + 1, int(step)):
                if parts := hours.get((moment - HOUR - BEGIN) // HOUR):
                    value = compute_over_time(function, parts)
                    largest = values_by_labels[remaining_labels].setdefault(moment, value)
                    values_by_labels[remaining_labels][moment] = max(largest, value)
        return tuple(Series(dict(key), tuple(sorted(points.items()))) for key, points in values_by_labels.items())

    def render_openmetrics(self) -> Iterator[str]:
        """A sample of every minute, at its beginning: those of an hour end before the next one's."""
        for name, span in self.spans.items():
            for key, spans in span.items():
                labels = ",".join(f'{label}="{word}"' for label, word in key)
                samples = {
                    minute: value
                    for first, last, value in spans
                    for minute in range(first, last)
                    if not any(
                        lost_name in {"", name} and begin <= minute < end for lost_name, begin, end in self.lost_minutes
                    )
                }
                yield from (
                    f"{name}{{{labels}}} {value} {BEGIN + 60 * minute + 60}\n"
                    for minute, value in sorted(samples.items())
                )

    def build_source(self, hours: int = 0) -> Source:
        """Build the source of all that is recorded, or of the first hours."""
        window = Window(BEGIN, BEGIN + (hours * HOUR or self.minutes * MINUTE))
        access: Any = SimpleNamespace(url="http://prometheus.example.org")
        fake: Any = SimpleNamespace(query_range=self.query_range, access=access)
        return Source(cast(Prometheus, fake), window, "label_team", "", recorded=True)


def compute_over_time(function: str, parts: list[tuple[int, float]]) -> float:
    count = sum(minutes for minutes, _ in parts)
    total = sum(minutes * value for minutes, value in parts)
    values_by_function = {"sum_over_time": total, "count_over_time": count, "avg_over_time": total / count}
    return {**values_by_function, "max_over_time": max(value for _, value in parts)}[function]


def index_by_name(rows: Any) -> Mapping[tuple[str, ...], Any]:
    return {row.names: row.hours for row in rows}
