"""Network cards of hosts, as node-exporter counts them."""

import promql_parser
import pytest

from gpustack.errors import MissingDataError
from gpustack.metrics.prometheus import Prometheus, Series
from gpustack.metrics.web import Access
from gpustack.profile.network import build_query, query_network_shares

PROMETHEUS = Prometheus(Access("http://prometheus.example.org"))


def answer_shares(monkeypatch: pytest.MonkeyPatch, **shares: dict[str, float]) -> None:
    def answer(self: Prometheus, expr: str, time: float | None = None) -> tuple[Series, ...]:
        direction = next(direction for direction in shares if f"node_network_{direction}_" in expr)
        return tuple(Series({"node": node}, ((1.0, share),)) for node, share in shares[direction].items())

    monkeypatch.setattr(Prometheus, "query_instant", answer)


def test_the_busier_direction_counts_by_the_name_of_the_node(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_shares(monkeypatch, receive={"GPU1.example.org": 0.4, "gpu2": 0.1}, transmit={"gpu1": 0.3, "other": 1.0})
    assert query_network_shares(PROMETHEUS, ["gpu1", "gpu2", "gpu3"], 0.0, 60.0) == {"gpu1": 0.4, "gpu2": 0.1}


def test_what_is_no_number_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    answer_shares(monkeypatch, receive={"gpu1": float("nan")}, transmit={})
    assert query_network_shares(PROMETHEUS, ["gpu1"], 0.0, 60.0) == {}


def test_a_server_that_refuses_the_query_leaves_the_network_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> tuple[Series, ...]:
        raise MissingDataError("prometheus-query", "many-to-many matching not allowed")

    monkeypatch.setattr(Prometheus, "query_instant", refuse)
    assert query_network_shares(PROMETHEUS, ["gpu1"], 0.0, 60.0) == {}


def test_the_query_is_of_the_time_of_the_profile() -> None:
    assert build_query("receive", 1800).count("[1800s]") == 4
    assert promql_parser.parse(build_query("transmit", 60)) is not None
