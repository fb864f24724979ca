"""Prometheus itself, out of the bundle's cache or of PATH, over made exporters, on this machine's own addresses."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import platformdirs
import pytest
import yaml

from tests.contract.exporters import EXPORTERS, Exporter, beside, exposition
from tests.contract.promql import RULES

EVERY = "2s"
READY = 120
"""Seconds that it may take to start."""


def program() -> str:
    parts = platformdirs.user_cache_path("gpustack") / "parts" / "prometheus"
    built = sorted(parts.glob("*/out/prometheus"), key=lambda path: path.stat().st_mtime)
    found = str(built[-1]) if built else shutil.which("prometheus")
    if found is None:
        pytest.skip("prometheus is neither in the bundle's cache (make bundle) nor on PATH")
    return found


class Metrics(BaseHTTPRequestHandler):
    """`/NODE/gpus` and `/NODE/beside`."""

    def do_GET(self) -> None:
        _, node, what = self.path.split("/")
        one = next(one for one in EXPORTERS if one.node == node)
        text = (exposition if what == "gpus" else beside)(one).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        pass


def job(one: Exporter, what: str, address: str) -> dict[str, Any]:
    """As the monitors of the cluster do: an exporter's labels give way, those of kube-state-metrics stay."""
    labels = {"namespace": "gpu-operator", "pod": f"e-{one.node}"} if what == "gpus" else {}
    return {
        "job_name": f"{'nvidia-dcgm-exporter' if what == 'gpus' else 'beside'}-{one.node}",
        "metrics_path": f"/{one.node}/{what}",
        "honor_labels": what != "gpus",
        "static_configs": [{"targets": [address], "labels": labels}],
    }


def written(folder: Path, address: str) -> Path:
    """Our rules as they are, evaluated as often as is scraped."""
    rules = yaml.safe_load((RULES / "gpu-recording.yaml").read_text())
    for group in rules["groups"]:
        group["interval"] = EVERY
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules))
    config = {
        "global": {"scrape_interval": EVERY, "scrape_timeout": EVERY, "evaluation_interval": EVERY},
        "rule_files": ["rules.yaml"],
        "scrape_configs": [job(one, what, address) for one in EXPORTERS for what in ("gpus", "beside")],
    }
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    return folder / "prometheus.yml"


class Prometheus:
    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/api/v1/query"

    def answer(self, expr: str) -> list[dict[str, Any]]:
        """Series of an instant query. Raises AssertionError with the server's words for one that it refuses."""
        try:
            with urlopen(f"{self.url}?{urlencode({'query': expr})}", timeout=30) as response:
                found: list[dict[str, Any]] = json.load(response)["data"]["result"]
        except HTTPError as error:
            raise AssertionError(f"{expr}\n{error.read().decode()}") from error
        return found


@contextmanager
def prometheus(folder: Path) -> Iterator[Prometheus]:
    """Runs until the end of the block, its data in the folder."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Metrics) as metrics, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        Thread(target=metrics.serve_forever, daemon=True).start()
        config = written(folder, f"127.0.0.1:{metrics.server_address[1]}")
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(
                [program(), f"--config.file={config}", f"--storage.tsdb.path={folder / 'data'}",
                 f"--web.listen-address=127.0.0.1:{port}"],
                stdout=log, stderr=log,
            )  # fmt: skip
            try:
                wait_until_ready(port, server, folder / "log")
                yield Prometheus(port)
            finally:
                server.terminate()
                server.wait(60)
                metrics.shutdown()


def wait_until_ready(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + READY
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=5):
                return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())
