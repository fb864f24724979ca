"""Thanos itself, compiled from its module, on this machine's own address: sidecars of Prometheus, and a querier."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

from gpustack_lab.bundle.modules import build_go_environment
from tests.contract.prometheus_server import OF_THE_PAST, build_data_command, find_free_port, run_prometheus
from tests.worlds.life.blocks import find_go

MODULE = Path(__file__).parent / "thanos"
COMPILE_LIMIT = 3000
PATIENCE = 120
NOTICE_LIMIT = 60
"""Seconds until a querier takes a dead store off, which are eight on a machine with nothing else to do."""


def find_or_compile(folder: Path) -> str:
    """Find Thanos in PATH, or compile it, which takes ten minutes of two cores. Raise subprocess.CalledProcessError,
    with Go's words, where modules cannot be had."""
    if program := shutil.which("thanos"):
        return program
    go = find_go()
    assert go, "no Go"
    command = [go, "build", "-tags", "slicelabels,netgo", "-ldflags", "-s -w", "-o", f"{folder}/", "tool"]
    env = {**os.environ, **build_go_environment(cgo=False)}
    subprocess.run(command, cwd=MODULE, env=env, check=True, capture_output=True, text=True, timeout=COMPILE_LIMIT)
    return str(folder / "thanos")


@dataclass(frozen=True)
class Store:
    """Describe a Prometheus and its sidecar. `address` is the one by which a querier names the sidecar."""

    address: str
    prometheus: "subprocess.Popen[bytes]"
    sidecar: "subprocess.Popen[bytes]"


@dataclass(frozen=True)
class Querier:
    url: str

    def ask(self, path: str, **form: str) -> tuple[int, Any]:
        """Return the status and the document of an answer."""
        try:
            with urlopen(f"{self.url}/api/v1/{path}", urlencode(form).encode() or None, PATIENCE) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            return error.code, json.load(error)

    def list_stores(self) -> dict[str, str | None]:
        """List the errors of all stores by their address."""
        _, document = self.ask("stores")
        return {store["name"]: store["lastError"] for group in document["data"].values() for store in group}


@contextmanager
def run_program(command: Sequence[str], log: Path) -> "Iterator[subprocess.Popen[bytes]]":
    with log.open("w") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def run_store(thanos: str, folder: Path, external_labels: dict[str, str]) -> Iterator[Store]:
    """Run a Prometheus with the data of the folder, and a sidecar."""
    config = {"global": {"external_labels": external_labels}}
    command, port = build_data_command(folder, config, OF_THE_PAST)
    grpc, http = find_free_port(), find_free_port()
    with run_prometheus(folder, (command, port)) as server:
        sidecar_command = [
            thanos, "sidecar", f"--tsdb.path={folder / 'data'}", f"--prometheus.url={server.url}",
            f"--grpc-address=127.0.0.1:{grpc}", f"--http-address=127.0.0.1:{http}",
        ]  # fmt: skip
        with run_program(sidecar_command, folder / "sidecar.log") as sidecar:
            yield Store(f"127.0.0.1:{grpc}", server.process, sidecar)


@contextmanager
def run_querier(thanos: str, folder: Path, stores: Sequence[Store], *replica_labels: str) -> Iterator[Querier]:
    """Run a querier, and wait until it knows all stores."""
    http, grpc = find_free_port(), find_free_port()
    command = [
        thanos, "query", f"--http-address=127.0.0.1:{http}", f"--grpc-address=127.0.0.1:{grpc}",
        *(f"--endpoint={store.address}" for store in stores),
        *(f"--query.replica-label={label}" for label in replica_labels),
    ]  # fmt: skip
    log = folder / f"querier-{http}.log"
    with run_program(command, log):
        querier = Querier(f"http://127.0.0.1:{http}")
        wait_until(lambda: querier.list_stores() == {store.address: None for store in stores}, PATIENCE, log)
        yield querier


def wait_until(holds: Callable[[], bool], seconds: float, log: Path) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            if holds():
                return
        except OSError:
            pass  # not yet listening
        assert time.monotonic() < deadline, log.read_text()[-3000:]
        time.sleep(0.5)


@contextmanager
def run_stores(thanos: str, folders: dict[Path, dict[str, str]]) -> Iterator[list[Store]]:
    with ExitStack() as stack:
        yield [stack.enter_context(run_store(thanos, folder, labels)) for folder, labels in folders.items()]
