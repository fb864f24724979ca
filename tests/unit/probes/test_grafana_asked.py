"""Grafana is asked by the real script and the real curl: this shows its login, and how often it is tried."""

import base64
import os
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from gpustack.ask.probe import Shell
from gpustack.probes.monitoring.grafana import RESPONSE

USER, PASSWORD = "admin", 'quo"te, back\\slash & $HOME'
# The real one takes a flag of get that stands before it for a plugin's.
KUBECTL = """#!/bin/sh
case " $* " in *" --ignore-not-found get "*)
  echo "Error: flags cannot be placed before plugin name: --kubeconfig" >&2
  exit 1 ;;
esac
printf '%s/%s %s' "$AT" "$WHO" "$WORD"
"""


class Grafana(HTTPServer):
    requests: list[str]


class Answers(BaseHTTPRequestHandler):
    server: Grafana

    def do_GET(self) -> None:
        self.server.requests.append(self.path)
        right = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        self.send_response(200 if self.headers["Authorization"] == f"Basic {right}" else 401)
        self.end_headers()
        self.wfile.write(b'{"data":{"result":[{"value":[1,"2"]}]}}')

    def log_message(self, *words: object) -> None:
        """Log nothing."""


@pytest.fixture
def grafana() -> Iterator[Grafana]:
    server = Grafana(("127.0.0.1", 0), Answers)
    server.requests = []
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()


def query_grafana(grafana: Grafana, folder: Path, password: str) -> str:
    (folder / "kubectl").write_text(KUBECTL)
    (folder / "kubectl").chmod(0o755)
    (folder / "admin.conf").touch()
    assert isinstance(RESPONSE.question, Shell)
    script = RESPONSE.question.script.replace("/etc/kubernetes", str(folder))
    encoded_words = {
        name: base64.b64encode(text.encode()).decode() for name, text in (("WHO", USER), ("WORD", password))
    }
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", "AT": f"127.0.0.1:{grafana.server_port}"}
    env = os.environ | encoded_words | environment | {"MONITORING": "monitoring", "RELEASE": "monitoring"}
    return subprocess.run(["sh", "-c", script], env=env, capture_output=True, text=True, check=True, timeout=30).stdout


def test_a_password_of_odd_characters_is_sent_as_it_is(grafana: Grafana, tmp_path: Path) -> None:
    assert query_grafana(grafana, tmp_path, PASSWORD) == "200 200 yes\n"


def test_a_password_that_is_refused_is_tried_once(grafana: Grafana, tmp_path: Path) -> None:
    assert query_grafana(grafana, tmp_path, "another") == "401 0 no\n"
    assert grafana.requests == ["/api/org"]
