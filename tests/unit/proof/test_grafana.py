"""Grafana's answers to a panel's question, over HTTP that is none, and Prometheus' to ours."""

from typing import Any

import pytest

from gpustack.metrics.prometheus import Prometheus as Client
from gpustack.metrics.web import Access
from gpustack.proof.grafana import Grafana, Refusal, build_question
from gpustack.proof.http import NoAnswer, Web
from gpustack.proof.prometheus import Prometheus, Scrape
from tests.worlds.programs.web import make_error, make_success, serve_answers

LABELS = {"__name__": "DCGM_FI_DEV_GPU_TEMP", "UUID": "GPU-1", "job": "a", "instance": "b"}


class Answers(Web):
    def __init__(self, **answers: tuple[int, Any]) -> None:
        super().__init__("Grafana", "127.0.0.1", 1, ("admin", "hunter2!"))
        object.__setattr__(self, "answers", answers)

    def ask(self, verb: str, path: str, body: str | None = None) -> tuple[int, Any]:
        answer_pair: tuple[int, Any] = next(answer for word, answer in self.answers.items() if word in path)  # type: ignore[attr-defined]
        return answer_pair


def build_frame(values: list[list[Any]], **labels: str) -> dict[str, Any]:
    fields = [{"name": "Time", "type": "time"}, {"name": "Value", "type": "number", "labels": {**LABELS, **labels}}]
    return {"schema": {"fields": fields}, "data": {"values": values}}


def query_panel(status: int, value: Any) -> dict[str, tuple[float, float]]:
    sources = (200, {"uid": "prometheus", "url": "http://elsewhere:9090"})
    return Grafana(Answers(query=(status, value), sources=sources)).query_panel("m", 1000.0)


def test_the_last_point_of_each_gpu_counts() -> None:
    frames = [
        build_frame([[985000, 1000000], [40, 41.5]]),
        build_frame([[985000, 1000000], [7, None]], UUID="GPU-2"),
        build_frame([[], []], UUID="GPU-3"),
        build_frame([[985000], [50]], GPU_I_ID="1"),
        build_frame([[985000], [50]], UUID=""),
    ]
    assert query_panel(200, {"results": {"A": {"status": 200, "frames": frames}}}) == {
        "GPU-1": (1000.0, 41.5),
        "GPU-2": (985.0, 7.0),
    }


@pytest.mark.parametrize(
    ("status", "value", "words"),
    [
        (400, {"results": {"A": {"error": "dial tcp: lookup x: no such host", "status": 400}}}, "no such host"),
        (500, {"results": {"A": {}}}, "HTTP 500"),
        (404, {"message": "data source not found"}, "Grafana has no data source with the uid prometheus"),
    ],
)
def test_a_data_source_that_fails_is_an_answer(status: int, value: Any, words: str) -> None:
    with pytest.raises(Refusal, match=words) as excinfo:
        query_panel(status, value)
    assert status == 404 or "(http://elsewhere:9090)" in str(excinfo.value)


@pytest.mark.parametrize(
    ("status", "value", "words"),
    [(401, {"message": "Unauthorized"}, "refused the login"), (502, "bad gateway", "HTTP 502.*bad gateway")],
)
def test_a_grafana_that_fails_is_none(status: int, value: Any, words: str) -> None:
    with pytest.raises(NoAnswer, match=words):
        query_panel(status, value)


def test_the_password_is_in_no_text() -> None:
    assert "hunter2" not in repr(Answers())


def test_a_panel_is_queried_as_grafana_does() -> None:
    question = build_question("m", 1000.0)
    assert (question["from"], question["to"]) == ("700000", "1000000")
    assert question["queries"][0]["datasource"] == {"type": "prometheus", "uid": "prometheus"}


def test_prometheus_is_asked_for_raw_samples() -> None:
    """The queries are of the clock, raw samples, values at a time, and targets."""
    questions: list[str] = []

    def answer(path: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
        questions.append(form.get("query", path))
        if path.endswith("/targets"):
            return make_success({"activeTargets": [{"labels": {"job": "a", "instance": "b"}, "scrapeInterval": "15s"}]})
        if path.endswith("/stores"):
            return 404, b"404 page not found"
        if form["query"] == "time()":
            return make_success({"resultType": "scalar", "result": [1000.5, "1000.5"]})
        if "[" in form["query"]:
            return make_success({"resultType": "matrix", "result": [{"metric": LABELS, "values": [[990.0, "41"]]}]})
        result = [{"metric": LABELS, "value": [990.0, value]} for value in ("41", "40")]
        return make_success({"resultType": "vector", "result": result})

    with serve_answers(answer) as url:
        prometheus = Prometheus(Client(Access(url)), ["gpu1"], {})
        series = prometheus.query_series()
        assert (series.metric, series.timestamp, series.samples[0].timestamp) == ("DCGM_FI_DEV_GPU_TEMP", 1000.5, 990.0)
        assert series.scrapes == {"a b": Scrape(15)}
        prometheus.query_series()
        assert sum(question.endswith("/targets") for question in questions) == 1
        assert '{__name__=~"DCGM_FI_DEV_GPU_TEMP"}[300s]' in questions
        assert prometheus.query_values(990.0) == {"GPU-1": 41.0}


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ((200, b"<html>"), "does not answer as Prometheus does.*<html>"),
        (make_error(422, "query timed out"), "could not answer the query.*query timed out"),
        (make_success(None), "does not answer as Prometheus does"),
        (
            make_success({"resultType": "matrix", "result": []}, warnings=["a store is lost"]),
            "in part.*a store is lost",
        ),
    ],
)
def test_bad_answers_of_prometheus_are_reasons(reply: tuple[int, bytes], words: str) -> None:
    with serve_answers(lambda *_: reply) as url, pytest.raises(NoAnswer, match=words):
        Prometheus(Client(Access(url)), [], {}).query_series()


def test_a_closed_port_is_no_answer() -> None:
    with pytest.raises(NoAnswer, match=r"Prometheus could not be asked: .*refused"):
        Web("Prometheus", "127.0.0.1", 1).get("/")
