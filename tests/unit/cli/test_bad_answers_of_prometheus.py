"""Reports without a number where any one of the answers of a Prometheus is bad, each with the status of its kind."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from typer.testing import CliRunner, Result

from gpustack.cli.app import app
from gpustack.config.inventory import Inventory
from gpustack.config.spec import Spec
from gpustack.errors import GpustackError
from gpustack.metrics import web
from tests.unit.cli.test_prometheus_without_numbers import COMMANDS, LABELS, make_uniform_prometheus
from tests.unit.metrics.test_thanos import read_recorded
from tests.worlds.programs.web import make_error, make_success, serve_answers

REPORTS = ("capacity report", "cost report", "gpu list")
GOOD_ANSWER = make_uniform_prometheus("0.5", LABELS)
BAD_ANSWERS: dict[str, tuple[tuple[int, bytes], int, str]] = {
    "warnings": (
        make_success({"resultType": "matrix", "result": []}, warnings=["a store is lost"]),
        8,
        "prometheus-partial",
    ),
    "series whose second half is cut off": (
        (200, b'{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"1"]},'),
        4,
        "prometheus-answer",
    ),
    "a query that failed": (make_error(422, "query would load too many samples"), 8, "prometheus-query"),
    "a query that is refused": (make_error(400, "1:3: parse error"), 2, "prometheus-query"),
    "a page of HTML": ((200, b"<!doctype html><title>Log in</title>"), 4, "prometheus-answer"),
    "a redirect": ((302, b""), 4, "prometheus-answer"),
    "a redirect without the name of a method": ((307, b"<a href='/login'>"), 4, "prometheus-answer"),
    "a login that has ended": ((401, b""), 4, "prometheus-refused"),
    "a gateway without its server": ((504, b"<html>"), 4, "prometheus-busy"),
    "nothing at all": ((200, b""), 4, "prometheus-answer"),
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use prices without an inventory, and ask once."""
    spec = Spec.model_validate({"cost": {"currency": "EUR", "prices": [{"per_gpu_hour": 2}]}})
    monkeypatch.setattr("gpustack.cli.session.open_inventory", lambda *_, **__: Inventory(None, (), spec))
    monkeypatch.setattr(web, "TRIES", 0)


class Spoiler:
    """Answer well, but for one answer: `place` is its number, from 0. `count` counts answers."""

    def __init__(self, bad_answer: tuple[int, bytes] = (200, b"")) -> None:
        self.bad_answer, self.place, self.count = bad_answer, -1, 0

    def __call__(self, path: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
        if path.endswith("/stores"):  # of which only Thanos has a list
            return 404, b"404 page not found"
        self.count += 1
        return self.bad_answer if self.count - 1 == self.place else GOOD_ANSWER(path, form, headers)


def run(words: str, url: str, *options: str) -> Result:
    return CliRunner().invoke(app, [*words.split(), *COMMANDS[words], "--prometheus", url, *options])


@pytest.mark.parametrize("words", REPORTS)
def test_good_answers_are_a_report(words: str) -> None:
    with serve_answers(Spoiler()) as url:
        result = run(words, url)
    assert result.exit_code in (0, 8), result.exception
    assert any(character.isdigit() for character in result.stdout)


@pytest.mark.parametrize("words", REPORTS)
def test_a_store_that_is_lost_meanwhile_leaves_no_number(words: str) -> None:
    """The answers are those of a real Thanos: tests/recorded/thanos/README.md."""
    count = 0

    def answer(path: str, form: dict[str, str], headers: dict[str, str]) -> tuple[int, bytes]:
        nonlocal count
        if not path.endswith("/stores"):
            return GOOD_ANSWER(path, form, headers)
        count += 1
        return read_recorded("stores-of-which-all-answer" if count <= first_count else "stores-without-sidecar")

    first_count = 2 if words == "capacity report" else 1  # whose state is that of a later moment
    with serve_answers(answer) as url:
        error = run(words, url).exception
    assert isinstance(error, GpustackError)
    assert (int(error.code), error.reference, count) == (8, "prometheus-partial", first_count + 1)
    assert "connection refused" in error.reason


def list_places(words: str, kind: str) -> list[int]:
    """List the answers to spoil: all of them by warnings, of which a caller could take no notice, else some."""
    spoiler = Spoiler()
    with serve_answers(spoiler) as url:
        run(words, url)
    places = list(range(spoiler.count))
    assert len(places) > 2, "a report asks more than the time"
    return places if kind == "warnings" else [places[0], places[len(places) // 2], places[-1]]


@pytest.mark.parametrize("kind", BAD_ANSWERS)
@pytest.mark.parametrize("words", REPORTS)
def test_one_bad_answer_leaves_no_number(words: str, kind: str) -> None:
    bad_answer, code, reference = BAD_ANSWERS[kind]
    spoiler = Spoiler(bad_answer)
    places = list_places(words, kind)
    with serve_answers(spoiler) as url:
        for place in places:
            spoiler.place, spoiler.count = place, 0
            result = run(words, url, "-o", ("human", "json")[place % 2])
            error = result.exception
            assert isinstance(error, GpustackError), (place, error, result.output)
            assert (result.stdout, int(error.code), error.reference) == ("", code, reference), (place, error.reason)


@contextmanager
def serve_drip(head: bytes) -> Iterator[str]:
    """Serve a byte at a time after a beginning, on one connection after the other, for as long as the caller waits."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def send_slowly() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection, suppress(OSError):
                        connection.recv(65536)
                        connection.sendall(head)
                        for _ in range(100):
                            connection.sendall(b" ")
                            time.sleep(0.05)

        threading.Thread(target=send_slowly, daemon=True).start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("words", REPORTS)
def test_a_drip_ends_at_the_deadline(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web, "ANSWER_LIMIT", 0.3)
    with serve_drip(b"HTTP/1.1 200 OK\r\nContent-Length: 9000\r\n\r\n") as url:
        began = time.monotonic()
        result = run(words, url)
    assert time.monotonic() - began < 5
    assert isinstance(result.exception, GpustackError)
    assert (result.stdout, int(result.exception.code)) == ("", 4)
    assert result.exception.reference == "prometheus-unreachable"
