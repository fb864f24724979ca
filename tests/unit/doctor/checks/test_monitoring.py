"""Prometheus is configured to select monitors."""

import pytest

from gpustack.ask.probe import CLUSTER
from tests.unit.doctor.checks.evaluation import evaluate, summarize
from tests.worlds.snapshots import hosts
from tests.worlds.snapshots.answers import place_answers, read_case


@pytest.mark.parametrize(
    ("prometheus", "monitors", "outcome"),
    [
        ("all", "exporter", "ok"),
        ("of-the-release", "exporter", "failed"),
        ("of-the-release", "none", "ok"),
        ("absent", "exporter", "failed"),
        ("none", "exporter", "ok"),
        ("no-such-kind", "no-such-kind", "ok"),
        ("expressions", "exporter", "unknown"),
        ("refused", "exporter", "unknown"),
    ],
)
def test_monitors_that_prometheus_does_not_take_fail(prometheus: str, monitors: str, outcome: str) -> None:
    answers = place_answers(
        CLUSTER,
        read_case("service-monitors.selectors", prometheus),
        read_case("service-monitors.objects", monitors),
        read_case("monitoring.prometheuses", "control-plane"),
    )
    snapshot = hosts.build_snapshot(answers)
    assert evaluate("mon-selector-nil-uses-helm-values", snapshot, CLUSTER).outcome == outcome


def test_what_the_selector_wants_is_reported() -> None:
    answers = place_answers(
        CLUSTER,
        read_case("service-monitors.selectors", "of-the-release"),
        read_case("service-monitors.objects", "bare"),
        read_case("monitoring.prometheuses", "control-plane"),
    )
    judgement = evaluate("mon-selector-nil-uses-helm-values", hosts.build_snapshot(answers), CLUSTER)
    wants = "monitoring-prometheus selects monitors with release=monitoring"
    assert summarize(judgement)[1] == f"{wants}, but not gpustack-dcgm in gpu-operator"
