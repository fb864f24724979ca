"""What Prometheus is configured to watch."""

import pytest

from gpustack.ask.probe import CLUSTER
from tests.worlds import hosts
from tests.worlds.cases import answers_at, recorded
from tests.worlds.doctor_checks import evaluate, summary


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
def test_monitors_that_prometheus_does_not_take(prometheus: str, monitors: str, outcome: str) -> None:
    answers = answers_at(
        CLUSTER,
        recorded("service-monitors.selectors", prometheus),
        recorded("service-monitors.objects", monitors),
        recorded("monitoring.prometheuses", "control-plane"),
    )
    snapshot = hosts.snapshot(answers)
    assert evaluate("mon-selector-nil-uses-helm-values", snapshot, CLUSTER).outcome == outcome


def test_what_the_selector_wants_is_reported() -> None:
    answers = answers_at(
        CLUSTER,
        recorded("service-monitors.selectors", "of-the-release"),
        recorded("service-monitors.objects", "bare"),
        recorded("monitoring.prometheuses", "control-plane"),
    )
    judgement = evaluate("mon-selector-nil-uses-helm-values", hosts.snapshot(answers), CLUSTER)
    wants = "monitoring-prometheus selects monitors with release=monitoring"
    assert summary(judgement)[1] == f"{wants}, but not gpustack-dcgm in gpu-operator"
