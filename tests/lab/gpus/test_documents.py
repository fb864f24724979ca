"""The commands of the documents about GPUs, as they stand there and in their order, against a lab whose host2 trains.

tests/contract/test_docs.py compares documented.py with the documents."""

import os
import shlex
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

import pytest

from gpustack.probes.gpu.temporary_changes import KINDS, PREFIX
from gpustack_lab import lab
from tests.documents import ROOT, commands
from tests.lab import roads
from tests.lab.conftest import Run
from tests.lab.gpus.documented import PAGES, ROWS, SHORTER
from tests.lab.monitored import PAUSE, apply, gpus, kubectl, labels, query
from tests.lab.witness import until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

TYPED = [(page, line) for page in PAGES for line in commands(ROOT / "docs" / page)]
IDLE = 'DCGM_FI_DEV_GPU_TEMP{gpu="0",Hostname="host1"} or DCGM_FI_DEV_GPU_TEMP{gpu="0",hostname="host1"}'
SERIES = 'count_over_time(DCGM_FI_PROF_SM_ACTIVE{exported_pod="train-0"}[30m]) >= 25'


def answers(url: str) -> bool:
    with urlopen(url, timeout=5) as answer:
        return bool(answer.status == 200)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Reader:
    """Somebody who types the commands in a folder of his own."""

    def __init__(self, two: lab.Lab, folder: Path, replaced: dict[str, str]) -> None:
        self.two, self.folder, self.replaced = two, folder, {**SHORTER, **replaced}
        self.server: subprocess.Popen[bytes] | None = None

    def text(self, line: str) -> str:
        for there, here in self.replaced.items():
            line = line.replace(there, here)
        return line

    def run(self, line: str) -> None:
        row = ROWS[line]
        if row.not_run:
            pytest.skip(row.not_run)
        text = self.text(f"{line} {row.more}")
        if row.serves:
            self.serve(text)
            return
        if line.startswith("kubectl "):
            words = shlex.split(line)[1:]
            at = words.index("-f") + 1
            kubectl(self.two, *words[:at], "-", text=(self.folder / words[at]).read_text())
            return
        done = subprocess.run(
            ["bash", "-c", text], cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=900,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        print(f"$ {text}\n{done.stderr}{done.stdout}")
        assert done.returncode in row.codes, f"exit {done.returncode}\n{done.stderr[-4000:]}{done.stdout[-4000:]}"

    def environment(self) -> dict[str, str]:
        return os.environ | {"NO_COLOR": "1"}

    def serve(self, text: str) -> None:
        self.end()
        self.server = subprocess.Popen(
            ["bash", "-c", f"exec {text}"], cwd=self.folder, env=self.environment(), stdin=subprocess.DEVNULL
        )
        until("it answers", lambda: answers(f"http://{self.text('127.0.0.1:9460')}/healthz"))
        assert self.server.poll() is None

    def end(self) -> None:
        if self.server:
            self.server.terminate()
            self.server.wait(30)


@contextmanager
def measured(two: lab.Lab, gpustack: Run) -> Iterator[None]:
    """A host engine that can be asked, and values every 5 s; afterwards as the other files of this folder need it."""
    spec = two.inventory / "group_vars" / "all" / "gpustack.yml"
    before = spec.read_text()
    try:
        cost = {"currency": "EUR", "prices": [{"per_gpu_hour": 2.1}], "budgets": {"team-a": 5000}}
        roads.merge_spec(two, gpu={"dcgm": "standalone", "metrics": {"interval": "5s"}}, cost=cost)
        gpustack("install", "-i", two.inventory, "--yes", limit=900)
        yield
    finally:
        spec.write_text(before)
        kubectl(two, "annotate", "nodes", "--all", *(f"{PREFIX}{kind}-" for kind in KINDS))
        gpustack("install", "-i", two.inventory, "--yes", limit=900)


@contextmanager
def training(two: lab.Lab) -> Iterator[None]:
    """The pod train-0 has a GPU of host2, and both of them work. host1 is free and idle."""
    container = {"name": "main", "image": PAUSE, "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    where = {"nodeSelector": {"kubernetes.io/hostname": "host2"}, "tolerations": [{"operator": "Exists"}]}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, **where}
    kind = {"apiVersion": "v1", "kind": "Pod"}
    try:
        apply(two, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}})
        apply(two, {**kind, "metadata": {"name": "train-0", "namespace": "team-a"}, "spec": spec})
        with gpus(two, host2="load=training"):
            until("it is measured", lambda: query(two, SERIES), limit=400)
            yield
    finally:
        kubectl(two, "delete", "namespace", "team-a", "--ignore-not-found", "--wait=false")


def one(two: lab.Lab, path: str, *words: str) -> str:
    return kubectl(two, "get", *words, "-o", f"jsonpath={path}")


@contextmanager
def forwarded(two: lab.Lab) -> Iterator[tuple[str, str]]:
    """Addresses here of Prometheus and of the exporter of host2."""
    prometheus = one(two, "{.spec.clusterIP}", "-n", "monitoring", "service", "monitoring-prometheus")
    chosen = ("-l", "app=nvidia-dcgm-exporter", "--field-selector", "spec.nodeName=host2")
    exporter = one(two, "{.items[0].status.podIP}", "-n", "gpu-operator", "pods", *chosen)
    ports = free_port(), free_port()
    ways = [f"-L127.0.0.1:{ports[0]}:{prometheus}:9090", f"-L127.0.0.1:{ports[1]}:{exporter}:9400"]
    ssh = subprocess.Popen(["ssh", "-F", two.ssh_config, "-N", "-oExitOnForwardFailure=yes", *ways, "host1"])
    try:
        yield f"http://127.0.0.1:{ports[0]}", f"http://127.0.0.1:{ports[1]}"
    finally:
        ssh.terminate()
        ssh.wait(30)


@pytest.fixture(scope="module")
def reader(two: lab.Lab, gpustack: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    folder = tmp_path_factory.mktemp("reader")
    for name in ("gpustack", "logs", "examples"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "token").write_text("no secret\n")
    with measured(two, gpustack), training(two), forwarded(two) as (prometheus, exporter):
        until("it is forwarded", lambda: answers(f"{exporter}/metrics"))
        ((idle,),) = labels(two, IDLE, "UUID")
        replaced = {
            "http://gpu1:9400": exporter,
            "http://10.0.0.12:9400": exporter,
            "https://prometheus.example.org": prometheus,
            "https://mimir.example.org/prometheus": prometheus,
            "http://prometheus.monitoring:9090": prometheus,
            "127.0.0.1:9460": f"127.0.0.1:{free_port()}",
            "mycluster": str(two.inventory),
            "GPU-4f1c...": idle,
            "gpu1": "host1",
            "gpu2": "host2",
        }
        found = Reader(two, folder, replaced)
        try:
            yield found
        finally:
            found.end()


@pytest.mark.parametrize(("page", "line"), TYPED, ids=[f"{page}: {line[:60]}" for page, line in TYPED])
def test_it_can_be_typed(reader: Reader, page: str, line: str) -> None:
    assert line in ROWS, f"{page} has a command that documented.py does not know: {line}"
    reader.run(line)
