"""A real Prometheus, out of the bundle's cache or of PATH, over the made hour and what our rules record of it."""

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

from gpustack.config.resources import values
from scripts.pictures.cluster import MINUTES
from scripts.pictures.series import STEP, openmetrics

PATIENCE = 600
DEEP = 2
"""Rules that the panels read are rules of rules at most: each round records what the last one made possible."""


def program(name: str) -> str:
    parts = platformdirs.user_cache_path("gpustack") / "parts" / "prometheus"
    built = sorted(parts.glob(f"*/out/{name}"), key=lambda path: path.stat().st_mtime)
    found = str(built[-1]) if built else shutil.which(name)
    return found or sys.exit(f"{name} is neither in the bundle's cache (make bundle) nor on PATH")


class Prometheus:
    def __init__(self, url: str, end: int) -> None:
        self.url, self.begin, self.end = url, end - MINUTES * 60, end

    def ask(self, path: str, parameters: Mapping[str, object]) -> list[dict[str, Any]]:
        """Series of the answer. Ends with the server's words for what it refuses."""
        try:
            with urlopen(f"{self.url}/api/v1/{path}", urlencode(parameters).encode(), PATIENCE) as response:  # noqa: S310 - ours
                found: list[dict[str, Any]] = json.load(response)["data"]["result"]
        except HTTPError as error:
            sys.exit(f"{parameters}\n{error.read().decode()}")
        return found

    def now(self, expr: str) -> list[dict[str, Any]]:
        return self.ask("query", {"query": expr, "time": self.end})

    def hour(self, expr: str) -> list[dict[str, Any]]:
        return self.ask("query_range", {"query": expr, "start": self.begin, "end": self.end, "step": STEP})


@contextmanager
def prometheus(folder: Path, *, recorded: bool) -> Iterator[Prometheus]:
    """With the hour until now, and what is recorded of it if wanted, until the end of the block."""
    end = int(time.time()) // 60 * 60
    (folder / "series.txt").write_text(openmetrics(end))
    (folder / "prometheus.yml").write_text("{}")
    run("create-blocks-from", "openmetrics", folder / "series.txt", folder / "data")
    for _ in range(DEEP if recorded else 0):
        with serving(folder, end) as server:
            options = {"start": server.begin - 300, "end": end, "url": server.url, "eval-interval": f"{STEP}s"}
            words = [f"--{name}={value}" for name, value in options.items()]
            made = f"--output-dir={folder / 'data'}"
            run("create-blocks-from", "rules", *words, made, values() / "rules" / "gpu-recording.yaml")
    with serving(folder, end) as server:
        yield server


def run(*words: str | Path) -> None:
    command = [program("promtool"), "tsdb", *words]
    done = subprocess.run(command, check=False, timeout=PATIENCE, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-3000:])


@contextmanager
def serving(folder: Path, end: int) -> Iterator[Prometheus]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    options = {
        "config.file": folder / "prometheus.yml",
        "storage.tsdb.path": folder / "data",
        "query.lookback-delta": f"{STEP * 3 // 2}s",  # what is written so has no markers where a series ends
        "web.listen-address": address,
    }
    command = [program("prometheus"), *(f"--{name}={value}" for name, value in options.items())]
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            deadline = time.monotonic() + PATIENCE
            while not answers(f"http://{address}/-/ready"):
                if server.poll() is not None or time.monotonic() > deadline:
                    sys.exit((folder / "log").read_text())
                time.sleep(0.2)
            yield Prometheus(f"http://{address}", end)
        finally:
            server.terminate()


def answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=5):  # noqa: S310 - ours
            return True
    except OSError:
        return False
