"""`gpustack serve` as typed, and how it ends."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from queue import SimpleQueue

import pytest
import urllib3
from typer.testing import CliRunner

from gpustack.cli.app import app
from tests.worlds.programs.web import make_prometheus, serve_answers
from tests.worlds.prometheus.moments import make_served_series

RUN = (sys.executable, "-c", "from gpustack.cli.app import main; main()", "serve")


def start(*words: str) -> tuple[subprocess.Popen[str], str]:
    """Start the server, and return it with its address, which is the first line that it prints."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    process = subprocess.Popen([*RUN, *words, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True, env=env)
    assert process.stderr is not None
    return process, process.stderr.readline().split(";")[0].removeprefix("serving ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_answers_until_a_signal_and_ends_well(number: signal.Signals) -> None:
    with serve_answers(make_prometheus(make_served_series())) as prometheus:
        process, address = start("--prometheus", prometheus)
        try:
            answer = urllib3.request("GET", f"{address}/v1/pods/team-b/train-0/power", timeout=30)
            assert (answer.status, answer.json()["value"]) == (200, 1280)
            process.send_signal(number)
            _, err = process.communicate(timeout=30)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "Traceback" not in err


def test_it_begins_without_prometheus_and_says_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        dead = server.getsockname()[1]
    process, address = start("--prometheus", f"http://127.0.0.1:{dead}")
    try:
        answer = urllib3.request("GET", f"{address}/v1/gpus", timeout=30, retries=False)
        assert (answer.status, answer.json()["reference"]) == (503, "prometheus-unreachable")
        process.terminate()
        _, err = process.communicate(timeout=30)
    finally:
        process.kill()
    assert "note: " in err
    assert "Connection refused" in err


def expect_refusal(*words: str) -> str:
    result = CliRunner().invoke(app, ["serve", *words])
    assert result.exit_code != 0
    return f"{getattr(result.exception, 'reference', '')} {result.output}"


@pytest.mark.parametrize(
    "listen", ["9460", "127.0.0.1", ":9460", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "\udcff:80"]
)
def test_where_to_listen_is_an_address_and_a_port(listen: str) -> None:
    assert "allowed: ADDRESS:PORT" in expect_refusal("--prometheus", "http://127.0.0.1:1", "--listen", listen)


def test_a_port_that_is_taken_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        listen = f"127.0.0.1:{server.getsockname()[1]}"
        assert expect_refusal("--prometheus", "http://127.0.0.1:1", "--listen", listen).startswith("serve-listen")


def test_what_is_no_address_of_a_prometheus_is_refused_at_once() -> None:
    refusal = expect_refusal("--prometheus", "prometheus:9090", "--listen", "127.0.0.1:0")
    assert refusal.startswith("prometheus-address")


def test_other_addresses_than_loopback_are_pointed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    signals: SimpleQueue[int] = SimpleQueue()
    monkeypatch.setattr("gpustack.cli.commands.serve.stop_signals", lambda: nullcontext(signals))
    with serve_answers(make_prometheus(make_served_series())) as prometheus:
        for listen, has_note in (("0.0.0.0:0", True), ("127.0.0.1:0", False)):
            signals.put(signal.SIGINT)
            result = CliRunner().invoke(app, ["serve", "--prometheus", prometheus, "--listen", listen])
            assert result.exit_code == 0, result.output
            assert ("there is no login" in result.output) is has_note
