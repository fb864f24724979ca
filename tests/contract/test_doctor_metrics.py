"""Prometheus' own checker takes what the doctor writes for node-exporter, without a lint."""

import pytest

from gpustack.report.doctor.metrics import render_metrics
from tests.contract.promtool import run_promtool
from tests.worlds.results import diagnoses


@pytest.mark.parametrize("kind", ["healthy", "ufw", "unexplained", "joint"])
def test_prometheus_takes_the_metrics(kind: str) -> None:
    assert run_promtool("check", "metrics", stdin=render_metrics(getattr(diagnoses, f"make_{kind}_diagnosis")())) == ""
