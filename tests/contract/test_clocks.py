"""Scrapers whose clocks are a minute off change nothing but the minute at which a fault is told.

Prometheus stamps samples by its own clock. An agent that writes to it stamps them by the clock of its machine, stale
markers included: of one that is a minute ahead a rule sees each value a minute late, and of one that is behind the
value of now, dated a minute ago. An exporter that prints timestamps is such a source, too. Prometheus' own clock that
is set by a minute is a minute without scrapes, which is less than test_watchers_may_be_away has.
"""

import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.contract.healthy_states import State, build_pages
from tests.contract.injected_faults import FAULTS, XIDS
from tests.contract.page_changes import add_fields
from tests.contract.prometheus_server import Prometheus, build_data_command, run_prometheus, write_rules
from tests.contract.promql import read_rules
from tests.contract.scraped_pages import Page, build_scrape_config, serve_pages, store_pages
from tests.contract.test_injected_faults import list_transitions
from tests.contract.timelines import Labels, Pieces, build_pieces, find_firings
from tests.contract.transitions import BEGIN, END, TRANSITIONS, change_series

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]
MINUTE = 60
PATIENCE = 120
CLASS = "bus-power"
"""The class of the Xid of the test; the other rules of its alert speak of other ones."""
CLOCKS = {
    "exporters ahead": ("DCGM_", 1),
    "kube-state-metrics ahead": ("kube_", 1),
    "exporters behind": ("DCGM_", -1),
    "kube-state-metrics behind": ("kube_", -1),
}
"""The beginning of the names that come by this clock, and the minutes that it is ahead."""
every_clock = pytest.mark.parametrize(("beginning", "ahead"), CLOCKS.values(), ids=CLOCKS)


def set_clock(beginning: str, ahead: float, labels: Labels, pieces: Pieces) -> Pieces:
    """Let a series whose name begins so come by an agent whose clock is not right."""
    if not labels["__name__"].startswith(beginning):
        return pieces
    return [
        (max(0, begin + ahead), None if value is None else value + rise * max(0, -begin - ahead), rise)
        for begin, value, rise in pieces
    ]


@every_clock
def test_transitions_of_nodes_are_quiet_by_any_clock(tmp_path: Path, beginning: str, ahead: float) -> None:
    pages = build_pages([transition.state for transition in TRANSITIONS], tmp_path)
    series = [
        (changed_labels, set_clock(beginning, ahead, changed_labels, changed_pieces))
        for labels, pieces in build_pieces(store_pages(tmp_path, pages, honour=False))
        for changed_labels, changed_pieces in change_series(TRANSITIONS, labels, pieces)
    ]
    firings = find_firings(tmp_path, series, END)
    loud_alerts = {(firing.node, firing.alert) for firing in firings if firing.severity != "info"}
    expected_alerts = {(transition.node, alert) for transition in TRANSITIONS for alert in transition.expected}
    assert loud_alerts - expected_alerts == set()


@every_clock
def test_each_fault_is_told_by_any_clock(tmp_path: Path, beginning: str, ahead: float) -> None:
    transitions = list_transitions()
    pages = build_pages([transition.state for transition in transitions], tmp_path)
    series = [
        (changed_labels, set_clock(beginning, ahead, changed_labels, changed_pieces))
        for labels, pieces in build_pieces(store_pages(tmp_path, pages, honour=False))
        for changed_labels, changed_pieces in change_series(transitions, labels, pieces)
    ]
    minutes: dict[tuple[str, str], float] = {}
    for firing in find_firings(tmp_path, series, END):
        minutes.setdefault((firing.node, firing.alert), firing.minute - BEGIN)
    late_faults = [
        (fault.node, fault.alert, minutes.get((fault.node, fault.alert)))
        for fault in FAULTS
        if not min(0, ahead) <= minutes.get((fault.node, fault.alert), -BEGIN) <= fault.minutes + 1
    ]
    assert late_faults == []


def set_timestamps(page: Page, timestamp: float) -> Page:
    """Let the page tell when each value was measured."""
    return replace(page, text=re.sub(r"(?m)^([^#\n].*)$", rf"\1 {round(timestamp * 1000)}", page.text))


def find_alerts(server: Prometheus, rules: list[dict[str, Any]]) -> dict[str, set[str]]:
    """Return the nodes of each alert whose expression is true now."""
    return {
        rule["alert"]: {series["metric"].get("node", "") for series in server.answer(rule["expr"])} for rule in rules
    }


def test_an_exporter_a_minute_behind_is_as_one_that_is_right(tmp_path: Path) -> None:
    """Prometheus keeps the timestamps that a page has. Both exporters tell of an Xid."""
    fault = (add_fields({f'{XIDS}{{xid="79"}}': 1}),)
    pages = build_pages([State("behind", "l4", fault), State("right", "l4", fault)], tmp_path)
    pages = [
        set_timestamps(page, time.time() - MINUTE) if page.pod == "nvidia-dcgm-exporter-behind" else page
        for page in pages
    ]
    write_rules(tmp_path)
    with serve_pages(pages) as proxy:
        config = {
            "global": {"scrape_interval": "5s", "scrape_timeout": "5s"},
            "rule_files": ["rules.yaml"],
            "scrape_configs": [build_scrape_config(page, honour=None) | {"proxy_url": proxy} for page in pages],
        }
        with run_prometheus(tmp_path, build_data_command(tmp_path, config, {})) as server:
            rules = [rule for rule in read_rules("gpu-alerts.yaml") if rule["labels"].get("xid_class", CLASS) == CLASS]
            deadline = time.monotonic() + PATIENCE
            while find_alerts(server, rules)["GpuXidCritical"] != {"behind", "right"} and time.monotonic() < deadline:
                time.sleep(2)
            # The rules that were asked before the last page came may have missed it.
            alerts = find_alerts(server, rules)
            (delay,) = server.answer('time() - timestamp(DCGM_FI_DEV_GPU_TEMP{Hostname="behind"})')
    assert float(delay["value"][1]) >= MINUTE
    assert alerts["GpuXidCritical"] == {"behind", "right"}
    assert {alert for alert, nodes in alerts.items() if len(nodes & {"behind", "right"}) == 1} == set()
    assert not alerts["GpuMetricsAbsent"] | alerts["GpuLost"]
