"""What Prometheus is told to watch."""

import pytest

from gpustack.ask.probe import CLUSTER
from tests.worlds import hosts
from tests.worlds.cases import recorded
from tests.worlds.doctor_checks import asked, told


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
    answers = {
        ("service-monitors.selectors", CLUSTER): recorded("service-monitors.selectors", prometheus),
        ("service-monitors.objects", CLUSTER): recorded("service-monitors.objects", monitors),
        ("monitoring.prometheuses", CLUSTER): recorded("monitoring.prometheuses", "control-plane"),
    }
    here = hosts.snapshot(answers)
    assert asked("mon-selector-nil-uses-helm-values", here, CLUSTER).outcome == outcome


def test_what_the_selector_wants_is_said() -> None:
    answers = {
        ("service-monitors.selectors", CLUSTER): recorded("service-monitors.selectors", "of-the-release"),
        ("service-monitors.objects", CLUSTER): recorded("service-monitors.objects", "bare"),
        ("monitoring.prometheuses", CLUSTER): recorded("monitoring.prometheuses", "control-plane"),
    }
    found = asked("mon-selector-nil-uses-helm-values", hosts.snapshot(answers), CLUSTER)
    wants = "monitoring-prometheus wants monitors with release=monitoring"
    assert told(found)[1] == f"{wants}; gpustack-dcgm in gpu-operator is not among them"
