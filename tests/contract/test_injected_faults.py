"""The alerts tell of each injected fault within its time: a real Prometheus' series and all rules together."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.healthy_states import STATES, build_pages
from tests.contract.injected_faults import FAULTS
from tests.contract.promql import ROOT
from tests.contract.scraped_pages import store_pages
from tests.contract.timelines import Labels, Pieces, build_pieces, find_firings
from tests.contract.transitions import BEGIN, TRANSITIONS, Transition, change_series

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
END = 70
REQUESTS = "apiserver_client_certificate_expiration_seconds_bucket"
MONTH = 2.592e6
CONSEQUENCES = {("stuck-driver", "GpuCapacityGone")}
CERTIFICATE = ("", "ClusterCertificateExpiring", 17)
"""Somebody speaks to the API with a certificate that ends within the month."""


def change_requests(labels: Labels, pieces: Pieces) -> Iterator[tuple[Labels, Pieces]]:
    """Let a request a second come from the fault on, with a certificate that ends within the month."""
    if labels["__name__"] == REQUESTS and float(labels["le"]) >= MONTH:
        yield labels, [*pieces, (BEGIN, pieces[0][1], 60)]
        return
    yield from change_series(list_transitions(), labels, pieces)


def list_transitions() -> list[Transition]:
    """List the transitions of all faults; two alerts may tell of one."""
    return list({fault.transition.node: fault.transition for fault in FAULTS}.values())


@pytest.mark.parametrize("honour", [False, True], ids=["exported_pod", "pod"])
def test_each_fault_is_told_within_its_time(tmp_path: Path, honour: bool) -> None:
    pages = build_pages([transition.state for transition in list_transitions()], tmp_path)
    stored_series = build_pieces(store_pages(tmp_path, pages, honour))
    series = [changed_series for labels, pieces in stored_series for changed_series in change_requests(labels, pieces)]
    firings = find_firings(tmp_path, series, END)
    first_minutes: dict[tuple[str, str], float] = {}
    for firing in firings:
        first_minutes.setdefault((firing.node, firing.alert), firing.minute - BEGIN)
    expected = [(fault.node, fault.alert, fault.minutes) for fault in FAULTS] + [CERTIFICATE]
    late = [
        (node, alert, first_minutes.get((node, alert)))
        for node, alert, minutes in expected
        if not 0 <= first_minutes.get((node, alert), -1) <= minutes
    ]
    assert late == []
    loud_alerts = {(firing.node, firing.alert) for firing in firings if firing.severity != "info"}
    assert loud_alerts - {(node, alert) for node, alert, _ in expected} == CONSEQUENCES


def test_the_page_has_the_figures() -> None:
    text = re.sub(r"\s+", " ", (ROOT / "docs" / "alerts.md").read_text())
    count = len(list_transitions()) + 1
    assert f"of {count} injected faults {count} fire within their time" in text
    assert f"{len(STATES)} healthy states" in text
    assert f"{len(TRANSITIONS)} transitions" in text
