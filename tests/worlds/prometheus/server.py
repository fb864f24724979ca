"""A real Prometheus for times, which serves until it is terminated.

python -m tests.worlds.prometheus.server scraped GPUS    one that scrapes so many; prints its address
python -m tests.worlds.prometheus.server recorded GPUS   one with a month of them; prints its address and an inventory
"""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from tests.contract.prometheus_server import OF_THE_PAST, build_data_command, run_prometheus
from tests.worlds.prometheus import month

EXPORTER = "tests.worlds.prometheus.exporter"
RETENTION = "storage.tsdb.retention.time"
PATIENCE = 120


@contextmanager
def serve_scraped_gpus(gpus: int) -> Iterator[str]:
    """Serve a Prometheus that has scraped a made exporter of so many, and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with TemporaryDirectory() as name:
        folder = Path(name)
        job = {"job_name": "nvidia-dcgm-exporter", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
        config = {"global": {"scrape_interval": "15s"}, "scrape_configs": [job]}
        with subprocess.Popen([sys.executable, "-m", EXPORTER, str(port), str(gpus)]) as exporter:
            try:
                with run_prometheus(folder, build_data_command(folder, config, {})) as server:
                    deadline = time.monotonic() + PATIENCE
                    while not server.answer("up == 1"):
                        if time.monotonic() > deadline:
                            sys.exit("no GPUs were scraped")
                        time.sleep(0.5)
                    yield server.url
            finally:
                exporter.terminate()


@contextmanager
def serve_recorded_month(gpus: int) -> Iterator[str]:
    """Serve a Prometheus with a month of so many; yield its address and the path of an inventory with prices."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        month.write(folder / "data", gpus)
        spec = {"cost": {"currency": "EUR", "prices": [{"per_gpu_hour": 2}]}}
        groups: dict[str, Any] = {"kube_control_plane": {"hosts": {"kube1": {}}}, "kube_node": {"hosts": {"kube2": {}}}}
        inventory = {"all": {"vars": {"gpustack": spec}, "children": groups}}
        (folder / "hosts.yml").write_text(yaml.safe_dump(inventory))
        with run_prometheus(folder, build_data_command(folder, {}, {RETENTION: OF_THE_PAST[RETENTION]})) as server:
            yield f"{server.url} {folder / 'hosts.yml'}"


def main(kind: str, gpus: int) -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with {"scraped": serve_scraped_gpus, "recorded": serve_recorded_month}[kind](gpus) as words:
        sys.stdout.write(f"{words}\n")
        sys.stdout.flush()
        signal.pause()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
