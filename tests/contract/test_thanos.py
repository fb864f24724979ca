"""Reports from a real Thanos: right with all stores, the same with replicas, and unknown as soon as a store is lost.

Its answers are recorded in tests/recorded/thanos by `RECORD=write pytest -m slow tests/contract/test_thanos.py`.
"""

import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gpustack.errors import GpustackError
from tests.contract.fleet import L40S, Fleet, Place, list_places
from tests.contract.fleet_reports import (
    draw_recent_fleet,
    find_differences,
    read_report,
    read_window,
    run_command,
    write_inventory,
)
from tests.contract.fleet_series import Scraper
from tests.contract.fleet_truth import Truth
from tests.contract.thanos_server import NOTICE_LIMIT, Querier, find_or_compile, run_querier, run_stores, wait_until
from tests.worlds.life.clock import DAY, MINUTE

DAYS = 2
RECORDED_FOLDER = Path(__file__).parents[1] / "recorded" / "thanos"
COMMANDS = ("capacity report", "cost report", "gpu list")
LABELS = ({"prometheus": "monitoring/east", "zone": "a"}, {"prometheus": "monitoring/west", "zone": "b"})
QUERY = "count(DCGM_FI_DEV_GPU_TEMP)"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture(scope="session")
def thanos(tmp_path_factory: pytest.TempPathFactory) -> str:
    try:
        return find_or_compile(tmp_path_factory.mktemp("thanos"))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"the modules of Thanos are not to be had: {error.stderr[-300:]}")


def find_wrong_figures(querier: Querier, fleet: Fleet, inventory: Path) -> Mapping[str, float]:
    """Find the figures of both reports that are further from the truth than they may be. All hours are recorded, and
    the list of GPUs is right."""
    capacity = read_report("capacity report", querier.url, inventory, DAYS)
    cost = read_report("cost report", querier.url, inventory, DAYS)
    assert capacity["recorded_hours"] == cost["recorded_hours"] == 24 * DAYS
    require_gpus(read_report("gpu list", querier.url, inventory, DAYS), fleet, time.time())
    return find_differences(capacity, cost, Truth(fleet, read_window(capacity)))


def require_gpus(document: Any, fleet: Fleet, timestamp: float) -> None:
    """Require that each GPU or instance is listed once, with the pod that has it, unless that has just changed."""
    units = [place for group in list_places() for place in group if fleet.list_presence(place)[1] >= timestamp]
    places = {(place.uuid, place.instance): place for place in units if fleet.list_presence(place)[0] <= timestamp}
    listed_gpus = {(gpu["uuid"], gpu["instance"] or ""): gpu for gpu in document["gpus"]}
    assert len(document["gpus"]) == len(listed_gpus)
    assert listed_gpus.keys() == places.keys()
    for key, place in places.items():
        assert listed_gpus[key]["node"] == place.node
        if place.model != L40S and not has_changed(fleet, place, timestamp):
            owners = [owner["pod"] for owner in listed_gpus[key]["owners"]]
            assert owners == [
                pod.name for pod in fleet.pods if place in pod.places and pod.begin <= timestamp < pod.end
            ]


def has_changed(fleet: Fleet, place: Place, timestamp: float) -> bool:
    moments = [moment for pod in fleet.pods if place in pod.places for moment in (pod.begin, pod.end)]
    return any(timestamp - 5 * MINUTE < moment <= timestamp for moment in moments)


def require_unknown(querier: Querier, inventory: Path, address: str) -> None:
    for words in COMMANDS:
        result = run_command(words, querier.url, inventory, DAYS)
        error = result.exception
        assert isinstance(error, GpustackError), (words, error, result.stdout)
        assert (int(error.code), error.reference, result.stdout) == (8, "prometheus-partial", ""), error.reason
        assert address in error.reason, (words, error.reason)
        print(f"{words}: {error.message} {error.reason}")


def describe_form(document: Any) -> Any:
    """Describe the names and types of an answer, without its values. The order of stores is that of their addresses,
    which are drawn."""
    if isinstance(document, dict):
        return {name: describe_form(value) for name, value in document.items() if name != "metric"}
    if isinstance(document, list):
        return sorted({json.dumps(describe_form(entry)) for entry in document})
    return type(document).__name__


def check_recorded(name: str, answer: tuple[int, Any]) -> None:
    """Check that the recorded answer of this name still has the form of a real one."""
    path, (status, document) = RECORDED_FOLDER / f"{name}.json", answer
    if os.environ.get("RECORD") == "write":
        path.write_text(json.dumps({"status": status, "document": document}, indent=1) + "\n")
    recorded_answer = json.loads(path.read_text())
    assert recorded_answer["status"] == status, document
    assert describe_form(recorded_answer["document"]) == describe_form(document)


@pytest.mark.parametrize("lost_part", ["sidecar", "prometheus"])
def test_a_lost_store_makes_all_reports_unknown(thanos: str, writer: Path, tmp_path: Path, lost_part: str) -> None:
    fleet, inventory = draw_recent_fleet(DAYS, 5 * MINUTE), write_inventory(tmp_path / "hosts.yml")
    folders = {tmp_path / "east": ("h1", "m1"), tmp_path / "west": ("h2", "t1")}
    for folder, nodes in folders.items():
        Scraper(fleet, nodes=nodes).write_blocks(writer, folder / "data")
    with (
        run_stores(thanos, dict(zip(folders, LABELS, strict=True))) as stores,
        run_querier(thanos, tmp_path, stores) as querier,
    ):
        assert find_wrong_figures(querier, fleet, inventory) == {}
        check_recorded("stores-of-which-all-answer", querier.ask("stores"))
        getattr(stores[1], lost_part).kill()
        getattr(stores[1], lost_part).wait()
        refused_answer = querier.ask("query", query=QUERY, partial_response="false")
        check_recorded(f"query-refused-without-{lost_part}", refused_answer)
        if lost_part == "prometheus":
            check_recorded("query-with-warnings", querier.ask("query", query=QUERY, partial_response="true"))
        require_unknown(querier, inventory, stores[1].address)
        wait_until(lambda: bool(querier.list_stores()[stores[1].address]), NOTICE_LIMIT, tmp_path / "east" / "log")
        require_unknown(querier, inventory, stores[1].address)
        check_recorded(f"stores-without-{lost_part}", querier.ask("stores"))
        if lost_part == "sidecar":
            status, document = querier.ask("query", query=QUERY, partial_response="false")
            assert (status, "warnings" in document) == (200, False), "only the list of stores tells that one is lost"


def test_replicas_count_once_and_cover_the_gaps_of_each_other(thanos: str, writer: Path, tmp_path: Path) -> None:
    """A replica was away for a day. Both were restarted, at different times."""
    fleet, inventory = draw_recent_fleet(DAYS, 5 * MINUTE), write_inventory(tmp_path / "hosts.yml")
    gap = fleet.start + 6 * 3600, fleet.start + 6 * 3600 + DAY
    replicas = (
        Scraper(fleet, down_spans=[gap], restarts=((1.6 * DAY, 12),)),
        Scraper(fleet, phase=37, restarts=((0.1 * DAY, 12), (1.8 * DAY, 3))),
    )
    folders = {}
    for number, scraper in enumerate(replicas):
        scraper.write_blocks(writer, tmp_path / str(number) / "data")
        names = {"prometheus": "monitoring/k8s", "prometheus_replica": f"prometheus-k8s-{number}", "tenant": "lab"}
        folders[tmp_path / str(number)] = names
    with run_stores(thanos, folders) as stores:
        for replica_labels in (("prometheus_replica",), ()):
            with run_querier(thanos, tmp_path, stores, *replica_labels) as querier:
                assert find_wrong_figures(querier, fleet, inventory) == {}
