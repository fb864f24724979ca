"""A real Prometheus of the bundle's cache or of PATH, over the invented hour and its recorded series."""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import platformdirs

from gpustack.config.resources import locate_shipped_values
from scripts.pictures.cluster import MINUTES
from scripts.pictures.series import STEP, render_openmetrics

PATIENCE = 600
RULE_DEPTH = 2
"""Rules that the panels read are rules of rules at most: each round records what the last one made possible."""


def find_program(name: str) -> str:
    parts = platformdirs.user_cache_path("gpustack") / "parts" / "prometheus"
    built_programs = sorted(parts.glob(f"*/out/{name}"), key=lambda path: path.stat().st_mtime)
    program_path = str(built_programs[-1]) if built_programs else shutil.which(name)
    return program_path or sys.exit(f"{name} is neither in the bundle's cache (make bundle) nor on PATH")


class Prometheus:
    def __init__(self, url: str, end: int) -> None:
        self.url, self.begin, self.end = url, end - MINUTES * 60, end

    def query_series(self, path: str, parameters: Mapping[str, object]) -> list[dict[str, Any]]:
        """Query the series of an answer. Exit with the server's words where it refuses."""
        try:
            with urlopen(f"{self.url}/api/v1/{path}", urlencode(parameters).encode(), PATIENCE) as response:  # noqa: S310 - ours
                series: list[dict[str, Any]] = json.load(response)["data"]["result"]
        except HTTPError as error:
            sys.exit(f"{parameters}\n{error.read().decode()}")
        return series

    def query_instant(self, expr: str) -> list[dict[str, Any]]:
        return self.query_series("query", {"query": expr, "time": self.end})

    def query_hour(self, expr: str) -> list[dict[str, Any]]:
        return self.query_series("query_range", {"query": expr, "start": self.begin, "end": self.end, "step": STEP})


@contextmanager
def open_prometheus(folder: Path) -> Iterator[Prometheus]:
    """Run a Prometheus with the hour until now and its recorded series, until the end of the
    block."""
    end = int(time.time()) // 60 * 60
    (folder / "series.txt").write_text(render_openmetrics(end))
    (folder / "prometheus.yml").write_text("{}")
    run_promtool("create-blocks-from", "openmetrics", folder / "series.txt", folder / "data")
    for _ in range(RULE_DEPTH):
        with serve_prometheus(folder, end) as server:
            options = {"start": server.begin - 300, "end": end, "url": server.url, "eval-interval": f"{STEP}s"}
            words = [f"--{name}={value}" for name, value in options.items()]
            output_option = f"--output-dir={folder / 'data'}"
            rule_file = locate_shipped_values() / "rules" / "gpu-recording.yaml"
            run_promtool("create-blocks-from", "rules", *words, output_option, rule_file)
    with serve_prometheus(folder, end) as server:
        yield server


def run_promtool(*words: str | Path) -> None:
    command = [find_program("promtool"), "tsdb", *words]
    process = subprocess.run(command, check=False, timeout=PATIENCE, capture_output=True, text=True)
    if process.returncode:
        sys.exit(process.stderr[-3000:])


@contextmanager
def serve_prometheus(folder: Path, end: int) -> Iterator[Prometheus]:
    with socket.socket() as free_socket:
        free_socket.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free_socket.getsockname()[1]}"
    options = {
        "config.file": folder / "prometheus.yml",
        "storage.tsdb.path": folder / "data",
        "query.lookback-delta": f"{STEP * 3 // 2}s",  # what is written so has no markers where a series ends
        "web.listen-address": address,
    }
    command = [find_program("prometheus"), *(f"--{name}={value}" for name, value in options.items())]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            deadline = time.monotonic() + PATIENCE
            while not is_ready(f"http://{address}/-/ready"):
                if server.poll() is not None or time.monotonic() > deadline:
                    sys.exit((folder / "log").read_text())
                time.sleep(0.2)
            yield Prometheus(f"http://{address}", end)
        finally:
            server.terminate()


def is_ready(url: str) -> bool:
    try:
        with urlopen(url, timeout=5):  # noqa: S310 - ours
            return True
    except OSError:
        return False
