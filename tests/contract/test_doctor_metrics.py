"""What the doctor writes for node-exporter is what Prometheus' own checker takes, and lints nothing in."""

import pytest

from gpustack.report.doctor.metrics import render_metrics
from tests.contract.promtool import complaints
from tests.worlds.results import diagnoses


@pytest.mark.parametrize("name", ["healthy", "ufw", "unexplained", "together"])
def test_prometheus_takes_the_metrics(name: str) -> None:
    assert complaints("check", "metrics", given=render_metrics(getattr(diagnoses, name)())) == ""
