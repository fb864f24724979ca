"""Workloads that are scaled, and a Prometheus that knows some queries."""

from collections.abc import Iterable, Mapping
from typing import cast

from gpustack.autoscale.manifest import Bounds, Draft
from gpustack.autoscale.suggest import Suggestion, suggest_metric
from gpustack.autoscale.workload import ScaledWorkload
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.metrics.web import Access
from gpustack.profile.analysis import analyze
from gpustack.profile.file import build_profile
from gpustack.profile.window import GpuWindow, Job
from tests.worlds.prometheus.windows import COMPUTE, build_window

VLLM = ScaledWorkload("team-a", "Deployment", "vllm", 2)


class Queries:
    """Answers a query that has one of these words, with one series of that value and these labels, and a query of all
    fields of GPUs with the series of the exporters."""

    access = Access("http://prometheus.example.org")

    def __init__(
        self,
        known_values: Mapping[str, float],
        labels: Mapping[str, Mapping[str, str]] | None = None,
        exporter_series: Iterable[Series] = (),
    ) -> None:
        self.known_values, self.labels, self.exporter_series = known_values, labels or {}, tuple(exporter_series)

    def query_instant(self, expr: str) -> tuple[Series, ...]:
        if expr.startswith("{__name__"):
            return self.exporter_series
        words = [word for word in self.known_values if word in expr]
        series = (Series(self.labels.get(word, {}), ((1000.0, self.known_values[word]),)) for word in words)
        return tuple(series)


def build_suggestion(
    known_values: Mapping[str, float], window: GpuWindow, exporter_series: Iterable[Series] = ()
) -> Suggestion:
    profile = build_profile(Job((window,)), "team-a/vllm-7d9f8c-x2k4p", "", 0.0, 1.0)
    queries = Queries(known_values, exporter_series=exporter_series)
    return suggest_metric(cast("Prometheus", queries), VLLM, analyze(profile))


def build_draft() -> Draft:
    suggestion = build_suggestion({"gpustack:gpu_sm_active:ratio": 0.91}, build_window(COMPUTE))
    return Draft(suggestion, Bounds(1, 4), "http://monitoring-prometheus.monitoring.svc:9090")
