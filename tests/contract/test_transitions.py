"""Transitions of nodes and of what watches them are quiet, but for alerts that are right."""

from pathlib import Path

import pytest

from gpustack.proof.silence import EXPECTED_ALERTS
from tests.contract.healthy_states import State, build_pages
from tests.contract.scraped_pages import store_pages
from tests.contract.timelines import NO_SCRAPE, Pieces, build_pieces, find_firings
from tests.contract.transitions import END, TRANSITIONS, Span, change_series, hold_value

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]
KUBE_STATE = "kube-state-metrics"


@pytest.mark.parametrize("honour", [False, True], ids=["exported_pod", "pod"])
def test_transitions_of_nodes_are_quiet(tmp_path: Path, honour: bool) -> None:
    pages = build_pages([transition.state for transition in TRANSITIONS], tmp_path)
    series = [
        changed_series
        for labels, pieces in build_pieces(store_pages(tmp_path, pages, honour))
        for changed_series in change_series(TRANSITIONS, labels, pieces)
    ]
    firings = find_firings(tmp_path, series, END)
    loud_alerts = {(firing.node, firing.alert) for firing in firings if firing.severity != "info"}
    assert loud_alerts == {(transition.node, alert) for transition in TRANSITIONS for alert in transition.expected}


def test_a_reboot_silences_what_boots_cause() -> None:
    boot_alerts = {alert for transition in TRANSITIONS if transition.restarts for alert in transition.expected}
    assert boot_alerts
    assert boot_alerts <= set(EXPECTED_ALERTS["reboot"])


@pytest.mark.parametrize("honour", [False, True], ids=["exported_pod", "pod"])
def test_watchers_may_be_away(tmp_path: Path, honour: bool) -> None:
    """kube-state-metrics is away for 2 minutes, Prometheus for 12, and kube-state-metrics for 15, which is told."""
    pages = build_pages([State("usual", "l4"), State("mig", "a800-mig")], tmp_path)
    series = []
    for labels, steady_pieces in build_pieces(store_pages(tmp_path, pages, honour)):
        pieces: Pieces = steady_pieces
        spans: dict[Span, float | None] = {(20, 22): None, (70, 85): None} if labels["job"] == KUBE_STATE else {}
        for span, value in {**spans, (40, 52): NO_SCRAPE}.items():
            pieces = hold_value(pieces, span, value)
        series.append((labels, pieces))
    firings = find_firings(tmp_path, series, 100)
    assert [(firing.alert, firing.minute) for firing in firings if firing.severity != "info"] == [
        ("GpuMonitoringBlind", 81)
    ]
