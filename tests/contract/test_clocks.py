"""Scrapers whose clocks are a minute off change nothing but the minute at which a fault is told.

Prometheus stamps samples by its own clock. An agent that writes to it stamps them by the clock of its machine, stale
markers included: of one that is a minute ahead a rule sees each value a minute late, and of one that is behind at once.
Prometheus' own clock that is set by a minute is a minute without scrapes, which is less than
test_watchers_may_be_away has.
"""

from pathlib import Path

import pytest

from tests.contract.healthy_states import build_pages
from tests.contract.injected_faults import FAULTS
from tests.contract.scraped_pages import store_pages
from tests.contract.test_injected_faults import list_transitions
from tests.contract.timelines import Labels, Pieces, build_pieces, find_firings
from tests.contract.transitions import BEGIN, END, TRANSITIONS, change_series

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
AHEAD = 1
"""Minutes that a clock is ahead."""
CLOCKS = {"exporters": "DCGM_", "kube-state-metrics": "kube_"}
every_clock = pytest.mark.parametrize("beginning", CLOCKS.values(), ids=CLOCKS)


def set_clock(beginning: str, labels: Labels, pieces: Pieces) -> Pieces:
    """Let a series whose name begins so come by an agent whose clock is ahead."""
    if not labels["__name__"].startswith(beginning):
        return pieces
    return [(begin + AHEAD, value, rise) for begin, value, rise in pieces]


@every_clock
def test_transitions_of_nodes_are_quiet_by_any_clock(tmp_path: Path, beginning: str) -> None:
    pages = build_pages([transition.state for transition in TRANSITIONS], tmp_path)
    series = [
        (changed_labels, set_clock(beginning, changed_labels, changed_pieces))
        for labels, pieces in build_pieces(store_pages(tmp_path, pages, honour=False))
        for changed_labels, changed_pieces in change_series(TRANSITIONS, labels, pieces)
    ]
    firings = find_firings(tmp_path, series, END)
    loud_alerts = {(firing.node, firing.alert) for firing in firings if firing.severity != "info"}
    expected_alerts = {(transition.node, alert) for transition in TRANSITIONS for alert in transition.expected}
    assert loud_alerts - expected_alerts == set()


@every_clock
def test_each_fault_is_told_by_any_clock(tmp_path: Path, beginning: str) -> None:
    transitions = list_transitions()
    pages = build_pages([transition.state for transition in transitions], tmp_path)
    series = [
        (changed_labels, set_clock(beginning, changed_labels, changed_pieces))
        for labels, pieces in build_pieces(store_pages(tmp_path, pages, honour=False))
        for changed_labels, changed_pieces in change_series(transitions, labels, pieces)
    ]
    minutes: dict[tuple[str, str], float] = {}
    for firing in find_firings(tmp_path, series, END):
        minutes.setdefault((firing.node, firing.alert), firing.minute - BEGIN)
    late_faults = [
        (fault.node, fault.alert, minutes.get((fault.node, fault.alert)))
        for fault in FAULTS
        if not 0 <= minutes.get((fault.node, fault.alert), -1) <= fault.minutes + AHEAD
    ]
    assert late_faults == []
