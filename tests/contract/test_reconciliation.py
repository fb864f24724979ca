"""`capacity report` and `cost report` over a made fleet of forty days, through a real Prometheus, are what has been, or
say what is not known: a day without Prometheus is a gap, and of GPUs that pods share nobody knows who used them."""

import json
from pathlib import Path

import pytest

from tests.contract.fleet_reports import draw_recent_fleet, find_differences, read_report, read_window, write_inventory
from tests.contract.fleet_series import Scraper
from tests.contract.fleet_truth import Truth
from tests.contract.prometheus_server import OF_THE_PAST, build_data_command, run_prometheus
from tests.worlds.life.clock import DAY

DAYS, GAP_DAY = 40, 25

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("honoured", [False, True], ids=["exported_pod", "pod"])
def test_reports_of_forty_days_say_what_has_been(writer: Path, tmp_path: Path, honoured: bool) -> None:
    fleet, inventory = draw_recent_fleet(DAYS), write_inventory(tmp_path / "hosts.yml")
    gap = fleet.start + GAP_DAY * DAY, fleet.start + (GAP_DAY + 1) * DAY
    Scraper(fleet, honoured, [gap], step=120).write_blocks(writer, tmp_path / "data")
    with run_prometheus(tmp_path, build_data_command(tmp_path, {}, OF_THE_PAST)) as server:
        capacity = read_report("capacity report", server.url, inventory, DAYS)
        cost = read_report("cost report", server.url, inventory, DAYS)
    assert find_differences(capacity, cost, Truth(fleet, read_window(capacity), [gap])) == {}
    for document in (capacity, cost):
        assert (len(document["gaps"]), round(document["recorded_hours"])) == (1, 24 * DAYS - 24)
        words = json.dumps(document["warnings"])
        assert "24.0 of 960 hours were not recorded" in words
        assert "are of GPUs that pods share" in words
