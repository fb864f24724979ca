"""The reader of Prometheus against servers that answer well, badly, late, half or not at all."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from itertools import pairwise
from typing import Any

import pytest

from gpustack.errors import GpustackError, MissingDataError, UnreachableError, UsageError
from gpustack.metrics import deadline, web
from gpustack.metrics.prometheus import PAGE, Prometheus, split_pages
from gpustack.metrics.web import Access
from tests.worlds.programs.web import Answer, make_error, make_success, serve_answers

VECTOR = {"resultType": "vector", "result": [{"metric": {"UUID": "GPU-a"}, "value": [1000.5, "0.25"]}]}


@pytest.fixture
def serve() -> Iterator[Callable[[Answer], str]]:
    """Serve answers of a function, and return the address."""
    with ExitStack() as stack:
        yield lambda answer: stack.enter_context(serve_answers(answer))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "TRIES", 0)
    monkeypatch.setattr(web, "READ_LIMIT", 1.0)


def test_one_moment_is_queried_with_token_and_tenant(serve: Callable[[Answer], str]) -> None:
    questions: list[Any] = []

    def answer(path: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
        questions.append((path, form, headers.get("Authorization"), headers.get("X-Scope-OrgID")))
        return make_success(VECTOR)

    instant = Prometheus(Access(serve(answer) + "/", token="secret", tenant="team")).query_instant("up", 1000.5)
    assert [(series.labels, series.points) for series in instant] == [({"UUID": "GPU-a"}, ((1000.5, 0.25),))]
    form = {"partial_response": "false", "query": "up", "time": "1000.5"}
    assert questions == [("/prometheus/api/v1/query", form, "Bearer secret", "team")]


def test_warnings_are_one_line(serve: Callable[[Answer], str]) -> None:
    prometheus = Prometheus(Access(serve(lambda *_: make_success(VECTOR, warnings=["a store is lost", "a\nb"]))))
    with pytest.raises(MissingDataError) as excinfo:
        prometheus.query_instant("up")
    assert excinfo.value.reason.startswith("a store is lost; a")
    assert "\n" not in excinfo.value.reason


def test_a_notice_about_a_name_is_no_warning(serve: Callable[[Answer], str]) -> None:
    """Thanos 0.38 has it among the warnings (thanos-io/thanos#8229), and DCGM's counters have such names."""
    notice = (
        'PromQL info: metric might not be a counter, name does not end in _total/_sum/_count/_bucket: "varnish_sli_all"'
    )
    answers = [make_success(VECTOR, warnings=[notice]), make_success(VECTOR, warnings=[notice, "a store is lost"])]
    prometheus = Prometheus(Access(serve(lambda *_: answers.pop(0))))
    assert prometheus.query_instant("up")
    with pytest.raises(MissingDataError) as excinfo:
        prometheus.query_instant("up")
    assert excinfo.value.reason == "a store is lost"


@pytest.mark.parametrize("head", [True, False])
def test_a_server_that_sends_a_byte_at_a_time_has_a_deadline(head: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a packet holds for every byte."""
    monkeypatch.setattr(deadline, "HEAD_LIMIT", 0.5)
    monkeypatch.setattr(web, "ANSWER_LIMIT", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def send_slowly() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):
                connection.recv(65536)
                connection.sendall(b"HTTP/1.1 200 OK\r\n" if head else b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n")
                for _ in range(99):
                    connection.sendall(b"X")
                    time.sleep(0.1)

        threading.Thread(target=send_slowly, daemon=True).start()
        began = time.monotonic()
        with pytest.raises(UnreachableError) as excinfo:
            Prometheus(Access(f"http://127.0.0.1:{listener.getsockname()[1]}")).query_instant("up")
        assert time.monotonic() - began < 5
    assert "its answer had not" in excinfo.value.reason


def test_an_answer_without_end_is_cut_off(serve: Callable[[Answer], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "SIZE_LIMIT", 2**20)
    with pytest.raises(UnreachableError) as excinfo:
        Prometheus(Access(serve(lambda *_: (200, b" " * 2**22)))).query_instant("up")
    assert "larger than 1 MiB" in excinfo.value.reason


def test_a_login_of_basic_authentication_is_sent_and_in_no_text(serve: Callable[[Answer], str]) -> None:
    headers_received: list[str | None] = []

    def answer(path: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
        headers_received.append(headers.get("Authorization"))
        return make_success(VECTOR)

    access = Access(serve(answer), login="Aladdin:open sesame")
    Prometheus(access).query_instant("up")
    assert headers_received == ["Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="], "the example of RFC 7617"
    assert "sesame" not in repr(access)


def test_a_long_time_is_asked_for_in_pages(serve: Callable[[Answer], str]) -> None:
    """Prometheus gives at most 11,000 points of a series at once."""

    def answer(path: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
        start, end, step = (float(form[key]) for key in ("start", "end", "step"))
        count = int((end - start) / step) + 1
        if count > 11_000:
            return make_error(400, "exceeded maximum resolution of 11,000 points per timeseries")
        values = [[start + n * step, "1"] for n in range(count)]
        return make_success({"resultType": "matrix", "result": [{"metric": {"gpu": "0"}, "values": values}]})

    response = Prometheus(Access(serve(answer))).query_range("up", 0, 25_000, 1)
    (series,) = response
    assert [moment for moment, _ in series.points] == list(range(25_001))


@pytest.mark.parametrize(("begin", "end", "step"), [(0, 0, 15), (0, PAGE, 1), (5, PAGE * 30 + 7, 15), (0, 10, 0.1)])
def test_pages_cover_every_moment_once(begin: float, end: float, step: float) -> None:
    pages = list(split_pages(begin, end, step))
    assert pages[0][0] == begin
    assert end - step < pages[-1][1] <= end
    assert all(after[0] - before[1] == pytest.approx(step) for before, after in pairwise(pages))
    assert all((last - first) / step < PAGE for first, last in pages)


@pytest.mark.parametrize(
    ("answer", "error", "reference", "word"),
    [
        (
            make_error(422, "it would load too many samples"),
            MissingDataError,
            "prometheus-query",
            "too many samples",
        ),
        (make_error(400, "1:3: parse error"), UsageError, "prometheus-query", "parse error"),
        (make_error(503, "query timed out in expression evaluation"), UnreachableError, "prometheus-busy", "timed out"),
        ((503, b"Service Unavailable"), UnreachableError, "prometheus-busy", ""),
        ((401, b"no organization id"), UnreachableError, "prometheus-refused", ""),
        ((404, b"404 page not found"), UnreachableError, "prometheus-answer", "404 page"),
        ((302, b""), UnreachableError, "prometheus-answer", ""),
        ((200, b"<html>log in"), UnreachableError, "prometheus-answer", "log in"),
        ((200, b'{"status":"success","data":{"resultType":"vec'), UnreachableError, "prometheus-answer", "vec"),
        ((200, b"[]"), UnreachableError, "prometheus-answer", "[]"),
        ((200, b'{"status":"success"}'), UnreachableError, "prometheus-answer", ""),
        (make_success(None), UnreachableError, "prometheus-answer", ""),
        (make_success({"resultType": "vector", "result": [{"metric": {}}]}), UnreachableError, "prometheus-answer", ""),
        (
            make_success({"resultType": "vector", "result": [{"metric": {}, "value": [1, "x"]}]}),
            UnreachableError,
            "prometheus-answer",
            "",
        ),
    ],
)
def test_each_bad_answer_has_its_words(
    serve: Callable[[Answer], str], answer: tuple[int, bytes], error: type[GpustackError], reference: str, word: str
) -> None:
    with pytest.raises(error) as excinfo:
        Prometheus(Access(serve(lambda *_: answer))).query_instant("up")
    assert excinfo.value.reference == reference
    assert word in excinfo.value.reason


def test_a_server_that_is_down_or_silent_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(UnreachableError) as excinfo:
            Prometheus(Access(address)).query_instant("up")
    assert excinfo.value.reference == "prometheus-unreachable"
    assert "Read timed out" in excinfo.value.reason
    with pytest.raises(UnreachableError) as excinfo:
        Prometheus(Access(address)).query_instant("up")
    assert "Connection refused" in excinfo.value.reason


def test_half_an_answer_is_none(serve: Callable[[Answer], str]) -> None:
    """The connection ends before what was announced has come."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def send_half() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"status":')

        threading.Thread(target=send_half, daemon=True).start()
        with pytest.raises(UnreachableError) as excinfo:
            Prometheus(Access(f"http://127.0.0.1:{listener.getsockname()[1]}")).query_instant("up")
    assert excinfo.value.reference == "prometheus-unreachable"


@pytest.mark.parametrize("address", ["", "prometheus:9090", "ftp://example.org", "http://", "http://[::1"])
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(UsageError) as excinfo:
        Prometheus(Access(address)).query_instant("up")
    assert excinfo.value.reference == "prometheus-address"


@pytest.mark.parametrize("login", ["user:secret@", "user@", "@", ":secret@"])
def test_a_login_in_the_address_is_refused_and_not_shown(login: str) -> None:
    with pytest.raises(UsageError) as excinfo:
        Access(f"https://{login}prometheus.example.org/api")
    assert excinfo.value.reference == "prometheus-login"
    assert "secret" not in f"{excinfo.value.message} {excinfo.value.reason} {excinfo.value.hint}"
    assert Access("https://prometheus.example.org/@").url
    with pytest.raises(UsageError):
        Access(f"{login}prometheus.example.org")


def test_a_busy_server_is_asked_again(serve: Callable[[Answer], str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "TRIES", 2)
    answers = [make_error(503, "loading"), make_success(VECTOR)]
    began = time.monotonic()
    assert Prometheus(Access(serve(lambda *_: answers.pop(0)))).query_instant("up")
    assert time.monotonic() - began < 5


def test_a_token_is_in_no_text() -> None:
    assert "secret" not in repr(Access("http://example.org", token="secret"))


def test_values_that_no_quantity_can_have_are_nan(serve: Callable[[Answer], str]) -> None:
    result = [{"metric": {}, "value": [1, text]} for text in ("NaN", "+Inf", "-Inf", "1e300")]
    instant = Prometheus(
        Access(serve(lambda *_: make_success({"resultType": "vector", "result": result})))
    ).query_instant("up")
    assert [str(series.points[0][1]) for series in instant] == ["nan"] * 4


def test_help_texts_of_a_metric_are_fetched_once(serve: Callable[[Answer], str]) -> None:
    texts = [{"type": "gauge", "help": "GPU utilization (in %).", "unit": ""}] * 2
    address = serve(lambda *_: make_success({"DCGM_FI_DEV_GPU_UTIL": texts}))
    assert Prometheus(Access(address)).fetch_help_texts("DCGM_FI_DEV_GPU_UTIL") == ("GPU utilization (in %).",)
    assert Prometheus(Access(address)).fetch_help_texts("DCGM_FI_DEV_FB_USED") == ()


def test_its_own_clock_counts(serve: Callable[[Answer], str]) -> None:
    address = serve(lambda *_: make_success({"resultType": "scalar", "result": [1000.5, "1000.5"]}))
    assert Prometheus(Access(address)).fetch_time() == 1000.5
