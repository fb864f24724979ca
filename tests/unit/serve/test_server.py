"""The server by real connections: well-meant ones, hostile ones, and too many."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager

import pytest
import urllib3

from gpustack.metrics.prometheus import Prometheus
from gpustack.metrics.web import Access
from gpustack.serve import clients, handler, request_head, server
from gpustack.serve.latest import LatestMoment
from gpustack.serve.moment import Moment, read_moment
from gpustack.serve.server import Server
from tests.worlds.programs.web import make_error, make_prometheus, serve_answers
from tests.worlds.prometheus.moments import make_moment, make_served_series

MOMENT = make_moment(make_served_series())


@contextmanager
def serve_moments(
    latest: Callable[[], Moment] = lambda: MOMENT, *, access_log: bool = False, hosts: tuple[str, ...] = ()
) -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), latest, access_log=access_log, hosts=hosts)
    with server.run_server():
        yield server


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "POLL_INTERVAL", 0.02)


@pytest.fixture
def running_server() -> Iterator[Server]:
    with serve_moments() as server:
        yield server


def get(http_server: Server, target: str, method: str = "GET") -> urllib3.BaseHTTPResponse:
    return urllib3.request(method, f"{http_server.url}{target}", retries=False, timeout=30)


def connect(http_server: Server) -> socket.socket:
    host, port = http_server.server_address[:2]
    return socket.create_connection((str(host), int(port)), timeout=30)


def count_busy(http_server: Server) -> int:
    """Count the threads that answer."""
    return len(http_server.clients.pending) + len(http_server.clients.active)


def wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def send_bytes(http_server: Server, data: bytes) -> tuple[int, bytes]:
    """Send bytes, and return the status and all that comes, until the server closes."""
    with closing(connect(http_server)) as connection:
        connection.sendall(data)
        text = b"".join(iter(lambda: connection.recv(65536), b""))
    return int(text.split(b" ", 2)[1]) if text else 0, text


def test_answers_are_json_with_headers(running_server: Server) -> None:
    answer = get(running_server, "/v1/pods/team-a/vllm-*/sm")
    assert (answer.status, answer.json()["unit"]) == (200, "ratio")
    headers = {name.lower(): value for name, value in answer.headers.items()}
    assert headers["content-type"] == "application/json"
    assert (headers["cache-control"], headers["connection"], headers["server"]) == ("no-store", "close", "gpustack")
    assert get(running_server, "/healthz").json() == {"outcome": "ok"}
    assert get(running_server, "/openapi.json").json()["openapi"] == "3.1.0"


def test_no_data_is_a_problem_with_the_reason(running_server: Server) -> None:
    answer = get(running_server, "/v1/pods/team-b/train-0/sm")
    assert (answer.status, answer.headers["Content-Type"]) == (404, "application/problem+json")
    document = answer.json()
    assert (document["status"], document["title"], document["reference"]) == (404, "Not Found", "serve-not-measured")
    assert "value" not in document


def test_head_is_get_without_the_body(running_server: Server) -> None:
    status, text = send_bytes(running_server, b"HEAD /v1/gpus HTTP/1.1\r\nHost: localhost\r\n\r\n")
    head, _, body = text.partition(b"\r\n\r\n")
    assert (status, body) == (200, b"")
    assert int(head.lower().partition(b"content-length: ")[2].split()[0]) > 1000
    assert send_bytes(running_server, b"HEAD /v1/no HTTP/1.1\r\nHost: localhost\r\n\r\n")[1].endswith(b"\r\n\r\n")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW", "get"])
def test_nothing_can_be_changed(running_server: Server, method: str) -> None:
    status, text = send_bytes(running_server, f"{method} /v1/gpus HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello".encode())
    assert status == 405
    assert b"\r\nAllow: GET, HEAD\r\n" in text


LONG = b"a" * 9000


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"GET /" + LONG + b" HTTP/1.1\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nX: " + LONG + b"\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 150 + b"\r\n", 431),
        (b"GET /healthz HTTP/1.1\r\nContent-Length: 9\r\n\r\nsome body", 400),
        (b"GET /healthz HTTP/1.1\r\nContent-Length: 999999999999\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n", 400),
        (b"GET /healthz HTTP/1.1\r\nContent-Length: 0\r\n\r\n", 200),
        (b"GET /healthz HTTP/1.1\n\n", 200),
        (b"GET /healthz HTTP/9.9\r\n\r\n", 505),
        (b"GET /healthz HTTP/x\r\n\r\n", 400),
        (b"GET  HTTP/1.1 x y z\r\n\r\n", 400),
        (b"\r\n\r\n", 0),
        (b"\x16\x03\x01\x02\x00\x01\x00\n\n", 400),
        (b"GET /v1/gpus/\xff\xfe HTTP/1.1\r\n\r\n", 404),
        (b"GET /v1/gpus/%00%0d%0aX:%20y HTTP/1.1\r\n\r\n", 404),
        (b"GET //healthz HTTP/1.1\r\n\r\n", 200),
        (b"GET http://elsewhere/healthz HTTP/1.1\r\n\r\n", 200),
        (b"GET /v1/gpus/../../etc/passwd HTTP/1.1\r\n\r\n", 404),
        (b"GET /v1/gpus HTTP/1.1\r\n: no name\r\n no\r\n\r\n", 200),
    ],
)
def test_hostile_requests_are_refused_and_the_server_goes_on(running_server: Server, data: bytes, status: int) -> None:
    actual_status, text = send_bytes(running_server, data)
    assert actual_status == status
    assert b"\r\nX: y" not in text
    assert not status or text.partition(b"\r\n\r\n")[0].count(b"HTTP/1.1 ") == 1
    assert get(running_server, "/healthz").status == 200


def test_only_the_first_of_two_requests_is_answered(running_server: Server) -> None:
    """A connection is not kept: nothing can be smuggled in behind a request."""
    _, text = send_bytes(running_server, b"GET /healthz HTTP/1.1\r\nConnection: keep-alive\r\n\r\n" * 2)
    assert text.count(b"HTTP/1.1 200") == 1


def test_a_slow_client_is_let_go(running_server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sends a little all the time is slow, too."""
    monkeypatch.setattr(request_head, "READ_LIMIT", 0.4)
    began = time.monotonic()
    with closing(connect(running_server)) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\n")
        connection.settimeout(0.05)
        answer = b""
        while not answer and time.monotonic() < began + 30:
            connection.sendall(b"a: b\r\n")
            try:
                answer = connection.recv(65536)
            except TimeoutError:
                continue
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert time.monotonic() - began >= 0.4


def test_a_client_that_takes_nothing_is_let_go(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(handler, "WRITE_LIMIT", 0.1)
    monkeypatch.setattr(request_head, "CLOSE_LIMIT", 0.1)
    monkeypatch.setattr(handler, "respond", lambda *_: "x" * 50_000_000)
    with serve_moments() as server, closing(connect(server)) as connection:
        connection.sendall(b"GET /v1/gpus HTTP/1.1\r\n\r\n")
        wait(lambda: count_busy(server) == 1)
        wait(lambda: count_busy(server) == 0)
    assert capsys.readouterr().err == ""


def test_a_client_that_goes_away_leaves_no_word(running_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    for data in (b"", b"GET /v1/gpus HTTP/1.1\r\n", b"GET /v1/gpus HTTP/1.1\r\n\r\n"):
        with closing(connect(running_server)) as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")  # with a reset
            connection.sendall(data)
    assert get(running_server, "/healthz").status == 200
    assert capsys.readouterr().err == ""


def test_more_than_there_are_threads_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients, "THREADS", 2)
    with serve_moments() as serving, closing(connect(serving)) as first_connection, closing(connect(serving)) as two:
        status, text = send_bytes(serving, b"")
        assert status == 503
        assert b"serve-busy" in text
        assert b"Retry-After" in text
        for connection in (first_connection, two):
            connection.sendall(b"GET /healthz HTTP/1.1\r\n\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 200")


def test_many_at_once_ask_prometheus_once() -> None:
    queries: list[str] = []
    answer_of_prometheus = make_prometheus(make_served_series())

    def answer(path: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
        queries.append(form.get("query", path))
        return answer_of_prometheus(path, form, headers)

    with serve_answers(answer) as url:
        prometheus = Prometheus(Access(url))
        with serve_moments(LatestMoment(lambda: read_moment(prometheus), 60)) as server, ThreadPoolExecutor(12) as pool:
            answers = list(pool.map(lambda _: get(server, "/v1/pods/team-a/vllm-*/sm"), range(40)))
    assert {answer.status for answer in answers} <= {200, 503}
    assert [answer.status for answer in answers].count(200) >= 12, "as many as come at once"
    assert len(queries) == 3
    assert queries[1:] == ["/prometheus/api/v1/stores", "time()"]


def test_a_prometheus_that_does_not_answer_is_503_with_the_reason() -> None:
    with serve_answers(lambda *_: make_error(422, "too many samples")) as url:
        prometheus = Prometheus(Access(url, token="very-secret"))
        with serve_moments(LatestMoment(lambda: read_moment(prometheus), 60)) as server:
            answer = get(server, "/v1/gpus")
            assert (answer.status, answer.json()["reference"]) == (503, "prometheus-query")
            assert "too many samples" in answer.json()["detail"]
            assert "Retry-After" in answer.headers
            assert get(server, "/healthz").status == 200
            assert b"very-secret" not in answer.data


def test_a_bug_is_500_and_described_in_our_own_output_only(capsys: pytest.CaptureFixture[str]) -> None:
    def read_latest() -> Moment:
        raise ZeroDivisionError("password=hunter2abc")

    with serve_moments(read_latest) as server:
        answer = get(server, "/v1/gpus")
    assert (answer.status, answer.json()["reference"]) == (500, "serve-bug")
    assert "ZeroDivision" not in answer.data.decode()
    err = capsys.readouterr().err
    assert "ZeroDivisionError" in err
    assert "hunter2abc" not in err


def test_requests_are_logged_only_when_asked_for(running_server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    get(running_server, "/healthz")
    assert capsys.readouterr().err == ""
    with serve_moments(access_log=True) as server:
        send_bytes(server, b"GET /v1/gpus/\x1b[31m HTTP/1.1\r\nAuthorization: Bearer very-secret\r\n\r\n")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith('127.0.0.1 "GET /v1/gpus/')
    assert line.isprintable()
    assert "very-secret" not in line


def test_closing_waits_for_what_was_begun() -> None:
    gate = threading.Event()

    def read_latest() -> Moment:
        assert gate.wait(30)
        return MOMENT

    with ThreadPoolExecutor(1) as pool:
        with serve_moments(read_latest) as server:
            waiting = pool.submit(get, server, "/v1/gpus")
            wait(lambda: count_busy(server) == 1)
            threading.Timer(0.2, gate.set).start()
        assert waiting.result().status == 200


def test_the_server_listens_on_ipv6() -> None:
    try:
        server = Server(("::1", 0), lambda: MOMENT)
    except OSError:
        pytest.skip("this machine has no ::1")
    with server.run_server():
        assert json.loads(get(server, "/healthz").data) == {"outcome": "ok"}
