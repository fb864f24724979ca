"""A real Prometheus for times, which serves until it is terminated.

python -m tests.worlds.prometheus scraped GPUS    one that scrapes so many; prints its address
python -m tests.worlds.prometheus recorded GPUS   one with a month of them; prints its address and an inventory
"""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.request import urlopen

import yaml

from tests.contract.promtool import program
from tests.worlds import month

EXPORTER = "tests.worlds.many_gpus"
PATIENCE = 120


@contextmanager
def scraped_gpus(gpus: int) -> Iterator[str]:
    """Its address, once it has scraped a made exporter of so many."""
    port = free_port()
    job = {"job_name": "nvidia-dcgm-exporter", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
    config = {"global": {"scrape_interval": "15s"}, "scrape_configs": [job]}
    exporter = [sys.executable, "-m", EXPORTER, str(port), str(gpus)]
    with TemporaryDirectory() as folder, running(exporter), serving(Path(folder), config) as url:
        wait(f"{url}/api/v1/query?query=up==1", b"nvidia-dcgm-exporter")
        yield url


@contextmanager
def recorded_month(gpus: int) -> Iterator[str]:
    """Its address, and the path of an inventory with prices."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        month.write(folder / "data", gpus)
        spec = {"cost": {"currency": "EUR", "prices": [{"per_gpu_hour": 2}]}}
        groups: dict[str, Any] = {"kube_control_plane": {"hosts": {"kube1": {}}}, "kube_node": {"hosts": {"kube2": {}}}}
        inventory = {"all": {"vars": {"gpustack": spec}, "children": groups}}
        (folder / "hosts.yml").write_text(yaml.safe_dump(inventory))
        with serving(folder, {}, "--storage.tsdb.retention.time=50y") as url:
            yield f"{url} {folder / 'hosts.yml'}"


@contextmanager
def serving(folder: Path, config: object, *options: str) -> Iterator[str]:
    """Its address, with its data in the folder `data` of the folder."""
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    ours = [
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
    ]
    with running([program("prometheus"), *ours, *options]):
        wait(f"http://{address}/-/ready", b"")
        yield f"http://{address}"


@contextmanager
def running(words: Sequence[str]) -> Iterator[None]:
    process = subprocess.Popen(words, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def wait(url: str, words: bytes) -> None:
    """Until it answers with these words."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        with suppress(OSError), urlopen(url, timeout=60) as response:
            if words in response.read():
                return
        time.sleep(0.5)
    sys.exit(f"{url} does not answer")


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def main(kind: str, gpus: int) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with {"scraped": scraped_gpus, "recorded": recorded_month}[kind](gpus) as words:
        sys.stdout.write(f"{words}\n")
        sys.stdout.flush()
        signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
