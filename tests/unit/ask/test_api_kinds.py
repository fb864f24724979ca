"""Reads of each kind, by the real script and the real curl, of a server that notes what it is asked."""

import base64
import json
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from gpustack.ask.answers import parse_answers
from gpustack.ask.api import METADATA, READ_LIMIT, fill_path, render_calls
from gpustack.ask.probe import Answer, Api, Probe
from gpustack.ask.script import format_command, render_script

MARK = "0123456789abcdef"
SERVICE = "/api/v1/namespaces/$SPACE/services/http:a:web/proxy/q?query=up"


def extract_text(answer: Answer) -> str:
    return answer.stdout


PASSED_ON, WHOLE_OBJECTS, SECRETS, LAST = (
    Probe("a.passed-on", Api(SERVICE), extract_text),
    Probe("b.whole", Api("/whole", fields=("metadata.name",)), extract_text),
    Probe("c.secrets", Api("/secrets", fields=("metadata.name",), metadata=True), extract_text),
    Probe("d.last", Api("/last"), extract_text),
)
ALL_PROBES = (PASSED_ON, WHOLE_OBJECTS, SECRETS, LAST)


class Server(ThreadingHTTPServer):
    """`requests` are (path, Accept); a path in `hanging` gets its answer when the test is over."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[tuple[str, str]] = []
        self.hanging = ""
        self.end = threading.Event()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self.server.requests.append((self.path, self.headers["Accept"]))
        if self.server.hanging and self.server.hanging in self.path:
            self.server.end.wait(30)
        body = json.dumps({"items": [{"metadata": {"name": "n"}, "data": {"secret": "s"}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.end.set()
    server.shutdown()
    thread.join()
    server.server_close()


def query_api(server: Server, tmp_path: Path) -> dict[str, Answer]:
    pem = base64.b64encode(b"not read without TLS").decode()
    file = tmp_path / "admin.conf"
    file.write_text(f"    server: http://127.0.0.1:{server.server_port}\n    client-key-data: {pem}\n")
    script = render_script(ALL_PROBES, MARK, {"SPACE": "monitoring"}).replace("/etc/kubernetes/admin.conf", str(file))
    script = script.replace(f"(({READ_LIMIT} ", "((1 ")
    process = subprocess.run(["sh"], input=script, capture_output=True, text=True, timeout=30, check=True)
    lines = [*process.stdout.split("\n"), *process.stderr.split("\n")]
    return {
        answer.probe: answer for answer in parse_answers(lines, MARK, "h1", {probe.id: probe for probe in ALL_PROBES})
    }


def test_what_is_passed_on_comes_last_and_of_metadata_alone_nothing_else_is_asked(
    server: Server, tmp_path: Path
) -> None:
    answers = query_api(server, tmp_path)
    assert [(answer.rc, answer.stderr) for answer in answers.values()] == [(0, "")] * 4
    assert [path for path, _ in server.requests] == [
        "/whole", "/last", "/secrets", "/api/v1/namespaces/monitoring/services/http:a:web/proxy/q?query=up",
    ]  # fmt: skip
    accepted_types = dict(server.requests)
    assert {path for path, accept in accepted_types.items() if "PartialObjectMetadataList" in accept} == {"/secrets"}
    assert answers["b.whole"].stdout == answers["c.secrets"].stdout == '{"items":[{"metadata":{"name":"n"}}]}'


def test_a_service_that_hangs_takes_no_other_read_with_it(server: Server, tmp_path: Path) -> None:
    server.hanging = "/proxy/"
    answers = query_api(server, tmp_path)
    assert {id for id, answer in answers.items() if answer.rc} == {"a.passed-on"}
    assert "timed out" in answers["a.passed-on"].stderr


def test_a_read_of_the_api_that_hangs_leaves_the_other_kinds(server: Server, tmp_path: Path) -> None:
    server.hanging = "/whole"
    answers = query_api(server, tmp_path)
    assert {id for id, answer in answers.items() if answer.rc} == {"b.whole", "d.last"}


def test_variables_of_paths_are_filled() -> None:
    assert fill_path("/a/$SPACE/b-$NAME", {"SPACE": "x"}) == "/a/x/b-$NAME"
    assert "services/http:a:web" in format_command(PASSED_ON, {"SPACE": "monitoring"})
    assert "/namespaces/monitoring/" in format_command(PASSED_ON, {"SPACE": "monitoring"})


def test_kinds_that_nobody_asks_start_no_curl() -> None:
    assert render_calls([]) == ""
    assert render_calls([SECRETS]).count("\n") == render_calls([WHOLE_OBJECTS]).count("\n") == 1
    assert METADATA in render_calls([SECRETS])
    assert METADATA not in render_calls([WHOLE_OBJECTS, PASSED_ON])
