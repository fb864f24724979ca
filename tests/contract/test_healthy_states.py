"""Healthy boards and platforms are quiet: pages as a real Prometheus stores them, in both shapes of labels."""

from pathlib import Path

import pytest

from tests.contract.healthy_states import STATES, build_pages
from tests.contract.scraped_pages import store_pages
from tests.contract.timelines import Firing, build_pieces, find_firings
from tests.unit.gpus.exporter_faults import PAGES

MINUTES = 70
"""More than the hour that the slowest alerts of these states wait."""
BOUNDS = {"604800.0", "2.592e+06"}

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]


def test_each_recorded_page_is_a_state() -> None:
    recorded_pages = {path.stem for path in PAGES.glob("*.prom")}
    assert {state.source for state in STATES} == recorded_pages
    assert len({state.node for state in STATES}) == len(STATES)


@pytest.mark.parametrize("honour", [False, True], ids=["exported_pod", "pod"])
def test_healthy_states_are_quiet(tmp_path: Path, honour: bool) -> None:
    series = store_pages(tmp_path, build_pages(STATES, tmp_path), honour, refused_pages=1)
    pods = {labels["pod"] for labels, _ in series if labels["__name__"] == "DCGM_FI_DEV_GPU_TEMP"}
    assert ("pod-1" in pods) is honour
    assert {labels.get("le") for labels, _ in series} >= BOUNDS
    firings = find_firings(tmp_path, build_pieces(series), MINUTES)
    assert list_loud(firings) == [(state.node, alert) for state in STATES for alert in state.expected]
    assert {firing.alert for firing in firings if firing.severity == "info"} == {"GpuPowerCapped", "GpuIdleAllocated"}


def list_loud(firings: list[Firing]) -> list[tuple[str, str]]:
    return [(firing.node, firing.alert) for firing in firings if firing.severity != "info"]
