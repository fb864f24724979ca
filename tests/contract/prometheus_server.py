"""Prometheus itself, out of the bundle's cache or of PATH, over made series, on this machine's own address."""

import json
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import yaml

from gpustack.config.spec import Spec
from gpustack.steps import budget
from tests.contract.exporters import render_openmetrics
from tests.contract.promql import RULES
from tests.contract.promtool import find_program, run_promtool

SPAN = "30m"
"""Stands for every range: what is made once is as good as new for so long, however slow the machine is."""
PATIENCE = 300
OF_THE_PAST = {"storage.tsdb.retention.time": "50y", "query.max-samples": "500000000"}
"""Data of the past stay: made lives are dated, and Prometheus deletes what is older than its retention."""
PRICED_SPEC = Spec.model_validate({"cost": {"currency": "EUR", "prices": [{"per_gpu_hour": 2}]}})


def build_command(folder: Path) -> tuple[list[str], int]:
    """Build the command of a server with the made series of ten minutes, and our rules evaluated every two seconds."""
    current_time = int(time.time())
    (folder / "series.txt").write_text(render_openmetrics(current_time - 600, current_time, 60))
    assert run_promtool("tsdb", "create-blocks-from", "openmetrics", folder / "series.txt", folder / "data") == ""
    write_rules(folder)
    return build_data_command(folder, {"rule_files": ["rules.yaml"]}, {"query.lookback-delta": SPAN})


def write_rules(folder: Path) -> None:
    """Write our recording rules and the budget's as `rules.yaml`, evaluated every two seconds."""
    rules = yaml.safe_load(re.sub(r"\[\d+[mh]\]", f"[{SPAN}]", (RULES / "gpu-recording.yaml").read_text()))
    rules["groups"] += budget.build_groups(PRICED_SPEC)
    for group in rules["groups"]:
        group["interval"] = "2s"
    (folder / "rules.yaml").write_text(yaml.safe_dump(rules))


def find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def build_data_command(folder: Path, config: Mapping[str, object], options: Mapping[str, str]) -> tuple[list[str], int]:
    """Build the command of a server with the data of the folder, and its port."""
    (folder / "prometheus.yml").write_text(yaml.safe_dump(dict(config)))
    port = find_free_port()
    rules = {
        "config.file": folder / "prometheus.yml",
        "storage.tsdb.path": folder / "data",
        "web.listen-address": f"127.0.0.1:{port}",
    }
    return [find_program("prometheus"), *(f"--{name}={value}" for name, value in {**rules, **options}.items())], port


class Prometheus:
    """A server on a port. `process` is there once it runs."""

    process: "subprocess.Popen[bytes]"

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def answer(self, expr: str) -> list[dict[str, Any]]:
        """Return the series of an instant query. Raise AssertionError with the server's words for one that it
        refuses."""
        try:
            with urlopen(f"{self.url}/api/v1/query", urlencode({"query": expr}).encode(), PATIENCE) as response:
                results: list[dict[str, Any]] = json.load(response)["data"]["result"]
        except HTTPError as error:
            raise AssertionError(f"{expr}\n{error.read().decode()}") from error
        return results

    def is_ready(self) -> bool:
        try:
            with urlopen(f"{self.url}/-/ready", timeout=PATIENCE):
                return True
        except OSError:
            return False


@contextmanager
def run_prometheus(folder: Path, command_and_port: tuple[list[str], int] | None = None) -> Iterator[Prometheus]:
    """Run a Prometheus until the end of the block, its data in the folder, by default with the command of
    `build_command`."""
    command, port = command_and_port or build_command(folder)
    prometheus = Prometheus(port)
    with (folder / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        prometheus.process = server
        try:
            deadline = time.monotonic() + PATIENCE
            while not prometheus.is_ready() and server.poll() is None and time.monotonic() < deadline:
                time.sleep(0.2)
            assert server.poll() is None, (folder / "log").read_text()
            yield prometheus
        finally:
            server.terminate()
