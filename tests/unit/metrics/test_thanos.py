"""The reader of Prometheus against recorded answers of a real Thanos, with and without a lost store."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from gpustack.errors import MissingDataError
from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.web import Access
from tests.worlds.programs.web import Answer, make_success, serve_answers

RECORDED_FOLDER = Path(__file__).parents[2] / "recorded" / "thanos"
RECORDED_REFUSALS = ("query-refused-without-sidecar", "query-refused-without-prometheus", "query-with-warnings")


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], str]]:
    """Serve answers of a function, and return the address."""
    with ExitStack() as stack:
        yield lambda answer: stack.enter_context(serve_answers(answer))


def read_recorded(name: str) -> tuple[int, bytes]:
    """Read an answer of a real Thanos: tests/recorded/thanos/README.md."""
    recorded_answer = json.loads((RECORDED_FOLDER / f"{name}.json").read_text())
    return recorded_answer["status"], json.dumps(recorded_answer["document"]).encode()


@pytest.mark.parametrize("name", RECORDED_REFUSALS)
def test_an_answer_in_part_is_refused_in_the_words_of_thanos(serve: Callable[[Answer], str], name: str) -> None:
    prometheus = Prometheus(Access(serve(lambda *_: read_recorded(name))))
    for ask in (prometheus.query_instant, partial(prometheus.query_range, begin=0, end=10, step=1)):
        with pytest.raises(MissingDataError) as excinfo:
            ask("up")
        assert excinfo.value.reference == "prometheus-partial"
        assert re.search(r"Addr: 127\.0\.0\.1:\d+ .*connection refused", excinfo.value.reason)


@pytest.mark.parametrize(
    ("name", "word"), [("stores-without-sidecar", "connection refused"), ("stores-without-prometheus", "Not ready")]
)
def test_a_thanos_with_a_store_that_does_not_answer_is_refused_at_once(
    serve: Callable[[Answer], str], name: str, word: str
) -> None:
    """Thanos asks only stores that are healthy, and has no warning for the others."""

    def answer(path: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
        clock = make_success({"resultType": "scalar", "result": [1000.5, "1000.5"]})
        return read_recorded(name) if path.endswith("/stores") else clock

    with pytest.raises(MissingDataError) as excinfo:
        Prometheus(Access(serve(answer))).fetch_time()
    assert excinfo.value.reference == "prometheus-partial"
    assert re.match(r"127\.0\.0\.1:\d+: rpc error: ", excinfo.value.reason)
    assert word in excinfo.value.reason
    assert excinfo.value.reason.count("127.0.0.1") == 1 + excinfo.value.reason.count("dial tcp"), (
        "the other store answers"
    )


@pytest.mark.parametrize(
    "stores",
    [
        (404, b"404 page not found"),
        (200, b"<html>"),
        make_success([]),
        (403, b"no"),
        read_recorded("stores-of-which-all-answer"),
    ],
)
def test_a_server_without_lost_stores_is_read(serve: Callable[[Answer], str], stores: tuple[int, bytes]) -> None:
    def answer(path: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
        clock = make_success({"resultType": "scalar", "result": [1000.5, "1000.5"]})
        return stores if path.endswith("/stores") else clock

    assert Prometheus(Access(serve(answer))).fetch_time() == 1000.5
