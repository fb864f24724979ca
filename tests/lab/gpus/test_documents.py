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
from tests.documents import ROOT, list_commands
from tests.lab import roads
from tests.lab.conftest import Run
from tests.lab.gpus.documented import PAGES, ROWS, SHORTER
from tests.lab.monitored import PAUSE, apply, query, query_labels, run_kubectl, set_gpus
from tests.lab.witness import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

TYPED_LINES = [(page, line) for page in PAGES for line in list_commands(ROOT / "docs" / page)]
IDLE = 'DCGM_FI_DEV_GPU_TEMP{gpu="0",Hostname="host1"} or DCGM_FI_DEV_GPU_TEMP{gpu="0",hostname="host1"}'
SERIES = 'count_over_time(DCGM_FI_PROF_SM_ACTIVE{exported_pod="train-0"}[30m]) >= 25'


def is_reachable(url: str) -> bool:
    with urlopen(url, timeout=5) as answer:
        return bool(answer.status == 200)


def find_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Reader:
    """Somebody who types the commands in a folder of his own."""

    def __init__(self, two: lab.Lab, folder: Path, replacements: dict[str, str]) -> None:
        self.two, self.folder, self.replacements = two, folder, {**SHORTER, **replacements}
        self.server: subprocess.Popen[bytes] | None = None

    def replace_words(self, line: str) -> str:
        for original, replacement in self.replacements.items():
            line = line.replace(original, replacement)
        return line

    def run(self, line: str) -> None:
        row = ROWS[line]
        if row.not_run:
            pytest.skip(row.not_run)
        text = self.replace_words(f"{line} {row.options}")
        if row.serves:
            self.serve(text)
            return
        if line.startswith("kubectl "):
            words = shlex.split(line)[1:]
            index = words.index("-f") + 1
            run_kubectl(self.two, *words[:index], "-", text=(self.folder / words[index]).read_text())
            return
        process = subprocess.run(
            ["bash", "-c", text], cwd=self.folder, env=self.build_environment(), capture_output=True, text=True,
            timeout=900, stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
        print(f"$ {text}\n{process.stderr}{process.stdout}")
        assert process.returncode in row.codes, (
            f"exit {process.returncode}\n{process.stderr[-4000:]}{process.stdout[-4000:]}"
        )

    def build_environment(self) -> dict[str, str]:
        return os.environ | {"NO_COLOR": "1"}

    def serve(self, text: str) -> None:
        self.end()
        self.server = subprocess.Popen(
            ["bash", "-c", f"exec {text}"], cwd=self.folder, env=self.build_environment(), stdin=subprocess.DEVNULL
        )
        wait_until("it answers", lambda: is_reachable(f"http://{self.replace_words('127.0.0.1:9460')}/healthz"))
        assert self.server.poll() is None

    def end(self) -> None:
        if self.server:
            self.server.terminate()
            self.server.wait(30)


@contextmanager
def enable_measuring(two: lab.Lab, gpustack: Run) -> Iterator[None]:
    """Enable a host engine that can be asked, and values every 5 s. The settings are restored at the end."""
    spec = two.inventory / "group_vars" / "all" / "gpustack.yml"
    before = spec.read_text()
    try:
        cost = {"currency": "EUR", "prices": [{"per_gpu_hour": 2.1}], "budgets": {"team-a": 5000}}
        roads.merge_spec(two, gpu={"dcgm": "standalone", "metrics": {"interval": "5s"}}, cost=cost)
        gpustack("install", "-i", two.inventory, "--yes", limit=900)
        yield
    finally:
        spec.write_text(before)
        run_kubectl(two, "annotate", "nodes", "--all", *(f"{PREFIX}{kind}-" for kind in KINDS))
        gpustack("install", "-i", two.inventory, "--yes", limit=900)


@contextmanager
def run_training(two: lab.Lab) -> Iterator[None]:
    """Run the pod train-0 on a GPU of host2, both at work. host1 is free and idle."""
    container = {"name": "main", "image": PAUSE, "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    placement = {"nodeSelector": {"kubernetes.io/hostname": "host2"}, "tolerations": [{"operator": "Exists"}]}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, **placement}
    kind = {"apiVersion": "v1", "kind": "Pod"}
    try:
        apply(two, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}})
        apply(two, {**kind, "metadata": {"name": "train-0", "namespace": "team-a"}, "spec": spec})
        with set_gpus(two, host2="load=training"):
            wait_until("it is measured", lambda: query(two, SERIES), limit=400)
            yield
    finally:
        run_kubectl(two, "delete", "namespace", "team-a", "--ignore-not-found", "--wait=false")


def read_field(two: lab.Lab, path: str, *words: str) -> str:
    return run_kubectl(two, "get", *words, "-o", f"jsonpath={path}")


@contextmanager
def forward_ports(two: lab.Lab) -> Iterator[tuple[str, str]]:
    """Forward ports here of Prometheus and of the exporter of host2."""
    prometheus = read_field(two, "{.spec.clusterIP}", "-n", "monitoring", "service", "monitoring-prometheus")
    selection = ("-l", "app=nvidia-dcgm-exporter", "--field-selector", "spec.nodeName=host2")
    exporter = read_field(two, "{.items[0].status.podIP}", "-n", "gpu-operator", "pods", *selection)
    ports = find_free_port(), find_free_port()
    forwards = [f"-L127.0.0.1:{ports[0]}:{prometheus}:9090", f"-L127.0.0.1:{ports[1]}:{exporter}:9400"]
    ssh = subprocess.Popen(["ssh", "-F", two.ssh_config, "-N", "-oExitOnForwardFailure=yes", *forwards, "host1"])
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
    with enable_measuring(two, gpustack), run_training(two), forward_ports(two) as (prometheus, exporter):
        wait_until("it is forwarded", lambda: is_reachable(f"{exporter}/metrics"))
        ((idle,),) = query_labels(two, IDLE, "UUID")
        replacements = {
            "http://gpu1:9400": exporter,
            "http://10.0.0.12:9400": exporter,
            "https://prometheus.example.org": prometheus,
            "https://mimir.example.org/prometheus": prometheus,
            "http://prometheus.monitoring:9090": prometheus,
            "127.0.0.1:9460": f"127.0.0.1:{find_free_port()}",
            "mycluster": str(two.inventory),
            "GPU-4f1c...": idle,
            "gpu1": "host1",
            "gpu2": "host2",
        }
        reader = Reader(two, folder, replacements)
        try:
            yield reader
        finally:
            reader.end()


@pytest.mark.parametrize(("page", "line"), TYPED_LINES, ids=[f"{page}: {line[:60]}" for page, line in TYPED_LINES])
def test_each_command_of_the_documents_runs(reader: Reader, page: str, line: str) -> None:
    assert line in ROWS, f"{page} has a command that documented.py does not know: {line}"
    reader.run(line)
