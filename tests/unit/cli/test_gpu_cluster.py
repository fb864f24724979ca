"""The metrics are those of the cluster in the inventory where no address is given."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from gpustack.ask.probe import CLUSTER, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.cli import session
from gpustack.cli.app import app
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.errors import UnreachableError
from gpustack.health.host_answers import HOST_SOURCE_PROBES
from gpustack.metrics import exposition
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.metrics.web import Access
from gpustack.probes.kubernetes.node_records import NODE_RECORDS
from gpustack.proof import connect
from gpustack.proof.services import ACCESS_PROBES
from tests.unit.doctor.states.objects import read_recorded_items
from tests.worlds.prometheus.gpu_series import BUSY, build_gpu_series
from tests.worlds.snapshots.answers import make_list
from tests.worlds.snapshots.healthy import build_healthy_snapshot

PAGES = Path(__file__).parents[2] / "recorded" / "exporter-pages"
HOSTS = Inventory(Path("hosts.yml"), (), Spec())


@pytest.fixture
def inventories(monkeypatch: pytest.MonkeyPatch) -> list[Inventory]:
    """Return the inventories whose monitoring was opened."""
    opened_inventories: list[Inventory] = []

    @contextmanager
    def open_part(part: str, hosts: Inventory, _: object, __: object = None) -> Iterator[tuple[str, int]]:
        opened_inventories.append(hosts)
        yield "127.0.0.1", {"prometheus": 9090, "exporter": 9400}[part]

    def query(self: Prometheus, expr: str, time: float | None = None) -> tuple[Series, ...]:
        assert self.access == Access("http://127.0.0.1:9090")
        return () if expr.startswith("kube_") else tuple(chain(*[build_gpu_series("gpu1", 0, **BUSY)]))

    monkeypatch.setattr(session, "open_inventory", lambda *_, **__: HOSTS)

    @contextmanager
    def open_exporter(hosts: Inventory, report: object) -> Iterator[tuple[str, int, frozenset[str]]]:
        with open_part("exporter", hosts, report) as (address, number):
            yield address, number, frozenset({"gpu1"})

    monkeypatch.setattr(connect, "open_part", open_part)
    monkeypatch.setattr(connect, "open_exporter", open_exporter)
    monkeypatch.setattr(Prometheus, "query_instant", query)
    monkeypatch.setattr(Prometheus, "fetch_time", lambda _: 1010.0)
    return opened_inventories


def run_gpu(*words: str) -> Result:
    return CliRunner().invoke(app, ["gpu", *words, "-q"])


def test_the_prometheus_of_the_cluster_is_asked(inventories: list[Inventory]) -> None:
    document = json.loads(run_gpu("list", "-o", "json").stdout)
    assert [gpu["node"] for gpu in document["gpus"]] == ["gpu1"]
    assert inventories == [HOSTS]


def test_the_health_of_a_cluster_asks_its_hosts_once(
    inventories: list[Inventory], monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = read_recorded_items(NODE_RECORDS.id, "proven")
    nodes[0]["metadata"]["name"] = "gpu1"
    healthy = build_healthy_snapshot()
    answers = {**healthy.answers, (NODE_RECORDS.id, CLUSTER): make_list(NODE_RECORDS.id, nodes)}
    asked_probes: list[set[str]] = []

    def gather(_: object, __: object, probes: Sequence[Probe[Any]], ___: object) -> Snapshot:
        asked_probes.append({probe.id for probe in probes})
        return replace(healthy, answers=answers)

    monkeypatch.setattr(session, "gather_all", gather)
    document = json.loads(run_gpu("health", "-o", "json").stdout)
    assert [sign["origin"] for gpu in document["gpus"] for sign in gpu["signs"] if sign["health"] == "watch"] == [
        "proof"
    ]
    assert document["warnings"] == []
    (ids,) = asked_probes
    needed_probes: tuple[Probe[Any], ...] = (*ACCESS_PROBES, *HOST_SOURCE_PROBES)
    assert ids == {probe.id for probe in needed_probes}
    assert inventories == [HOSTS]


def test_a_given_address_opens_no_cluster(inventories: list[Inventory], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Prometheus, "query_instant", lambda *_: ())
    run_gpu("list", "--prometheus", "http://prometheus.example.org")
    assert inventories == []


def test_the_exporter_of_the_cluster_is_checked(inventories: list[Inventory], monkeypatch: pytest.MonkeyPatch) -> None:
    urls: list[str] = []

    def fetch(web: Any) -> None:
        urls.append(web.access.url)
        raise UnreachableError("exporter-answer", "The exporter gave no answer.")

    monkeypatch.setattr(exposition, "fetch_page", fetch)
    error = run_gpu("check-exporter").exception
    assert isinstance(error, UnreachableError)
    assert (urls, inventories) == (["http://127.0.0.1:9400/metrics"], [HOSTS])


def test_the_host_of_the_exporter_is_compared_with_the_nodes_of_the_cluster(
    inventories: list[Inventory], monkeypatch: pytest.MonkeyPatch
) -> None:
    page = exposition.parse_page((PAGES / "l4.prom").read_text())
    monkeypatch.setattr(exposition, "fetch_page", lambda _: page)
    result = run_gpu("check-exporter")
    assert (result.exit_code, inventories) == (1, [HOSTS])
    assert "node1 (nodes are gpu1)" in result.stdout
    assert "nodes are" not in run_gpu("check-exporter", "http://node1:9400/metrics").stdout
