"""A GPU falls off the bus under a running job: the alert, the verdict, cordon, wait, reboot and the way back, with the
seconds of each. The tests stand in the order of the story."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gpustack.probes.kubernetes.node_records import PROOF_RECORD
from gpustack_lab import lab
from tests.lab import roads
from tests.lab.conftest import Run
from tests.lab.gpus.test_nodes import is_reachable, read_node
from tests.lab.gpus.test_remediate import NODE, RECORD, find_next, read_verdict, remediate
from tests.lab.monitored import apply, run_kubectl
from tests.lab.webhook import Webhook, run_webhook
from tests.lab.witness import IMAGE, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

SPACE = "story"
JOB_SECONDS = 500
"""Longer than the five minutes for which GpuLost waits."""
TIMES = ("--wait-for-jobs", "15m", "--timeout", "2m", "--boot-timeout", "10m")


@pytest.fixture(scope="module")
def hook(two: lab.Lab) -> Iterator[Webhook]:
    with run_webhook(two.record.gateway) as webhook:
        yield webhook


@pytest.fixture(scope="module", autouse=True)
def lost_gpu(two: lab.Lab, gpustack: Run, hook: Webhook, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Lose a GPU while a job has it, and give its UUID. The diagnostic needs a host engine."""
    path = two.inventory / "group_vars" / "all" / "gpustack.yml"
    before = path.read_text()
    secret = tmp_path_factory.mktemp("secret") / "webhook"
    secret.touch(mode=0o600)
    secret.write_text(f"{hook.url}\n")
    receivers = {"default": [{"type": "webhook", "secret_file": str(secret)}]}
    roads.merge_spec(two, gpu={"dcgm": "standalone"}, alerts={"receivers": receivers})
    gpustack("install", "-i", two.inventory, "--yes", limit=1500)
    apply(two, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}}, build_job(NODE))
    wait_until("the job runs", lambda: is_running(two), limit=120)
    try:
        yield two.read_gpus(NODE)[1].uuid
    finally:
        two.set_gpu(NODE, "recover")
        run_kubectl(two, "annotate", "node", NODE, f"{RECORD}-")
        run_kubectl(two, "uncordon", NODE)
        run_kubectl(two, "delete", "namespace", SPACE, "--ignore-not-found")
        path.write_text(before)
        gpustack("install", "-i", two.inventory, "--yes", limit=1500)


def build_job(node: str) -> dict[str, Any]:
    container = {
        "name": "train",
        "image": IMAGE,
        "command": ["sleep", str(JOB_SECONDS)],
        "resources": {"limits": {"nvidia.com/gpu": "1"}},
    }
    pod = {"nodeName": node, "restartPolicy": "Never", "containers": [container]}
    spec = {"backoffLimit": 0, "template": {"spec": pod}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "train", "namespace": SPACE}, "spec": spec}


def is_running(two: lab.Lab) -> bool:
    return "Running" in run_kubectl(two, "-n", SPACE, "get", "pods", "-o", "jsonpath={.items[*].status.phase}")


def find_target(two: lab.Lab, uuid: str) -> str:
    return f"{NODE}:{uuid}"


def take(two: lab.Lab, gpustack: Run, uuid: str, rung: str) -> None:
    """Take the next rung, which is to be this one."""
    target = find_target(two, uuid)
    assert find_next(remediate(two, gpustack, "--check", code=None, target=target)) == rung
    document = remediate(two, gpustack, "--yes", code=0, target=target, times=TIMES)
    assert (document["outcome"], document["reason"]) == ("done", None)


def measure_wait(event: str, condition: Callable[[], Any], limit: float) -> None:
    began = time.monotonic()
    wait_until(event, condition, limit=limit)
    print(f"{event}: {time.monotonic() - began:.0f} s")


def test_two_sources_call_it_lost_and_ask_for_a_reboot(two: lab.Lab, gpustack: Run, lost_gpu: str) -> None:
    two.set_gpu(f"{NODE}:1", "lost")
    measure_wait("the verdict", lambda: read_verdict(two, gpustack, NODE, lost_gpu) == "reboot", limit=300)
    assert read_verdict(two, gpustack, NODE, "0") == "ok"
    assert is_running(two)


def test_the_alert_reaches_the_receiver(two: lab.Lab, hook: Webhook, lost_gpu: str) -> None:
    measure_wait("the alert", lambda: hook.list_alerts(alertname="GpuLost", UUID=lost_gpu), limit=600)
    assert hook.list_alerts(alertname="GpuLost", UUID=lost_gpu)[0]["labels"]["severity"] == "critical"


def test_the_rungs_wait_for_the_job_and_reboot_the_host(two: lab.Lab, gpustack: Run, lost_gpu: str) -> None:
    """The power cycle brings the GPU back."""
    take(two, gpustack, lost_gpu, "cordon")
    take(two, gpustack, lost_gpu, "drain")
    phases = run_kubectl(two, "-n", SPACE, "get", "pods", "-o", "jsonpath={.items[*].status.phase}")
    assert phases == "Succeeded"
    with ThreadPoolExecutor(1) as pool:
        reboot = pool.submit(take, two, gpustack, lost_gpu, "reboot")
        wait_until("the host is down", lambda: not is_reachable(two, NODE), limit=600)
        two.set_gpu(f"{NODE}:1", "recover")
        reboot.result()
    assert read_node(two, NODE)[0]


def test_the_way_back_returns_the_node(two: lab.Lab, gpustack: Run, lost_gpu: str) -> None:
    measure_wait("the verdict", lambda: read_verdict(two, gpustack, NODE, lost_gpu) == "ok", limit=400)
    began = time.monotonic()
    gpustack("gpu", "diag", "--cordoned", "--node", NODE, "-i", two.inventory, "--yes", limit=900)
    gpustack("prove", "--cordoned", "--limit", NODE, "-i", two.inventory, limit=900)
    gpustack("node", "uncordon", NODE, "-i", two.inventory, "--yes")
    print(f"diag, prove, uncordon: {time.monotonic() - began:.0f} s")
    assert read_node(two, NODE) == (False, {RECORD})
    assert PROOF_RECORD in run_kubectl(two, "get", "node", NODE, "-o", "jsonpath={.metadata.annotations}")
