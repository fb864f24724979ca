"""A monitored cluster is asked by kubectl on its control plane, not by our own probes."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from gpustack.config.versions import KNOWN_SETS, read_version_set
from gpustack_lab import lab
from tests.lab.witness import wait_until

PAUSE = f"registry.k8s.io/pause:{read_version_set(KNOWN_SETS[-1]).components['pause']}"
ADMIN = ("--kubeconfig", "/etc/kubernetes/admin.conf")
SERVICE = "/api/v1/namespaces/monitoring/services/http:monitoring-{}:http-web/proxy"


def run_kubectl(running_lab: lab.Lab, *words: str, text: str = "") -> str:
    """Run kubectl, which has to succeed, and return its output."""
    process = running_lab.exec("host1", ["sudo", "kubectl", *ADMIN, *words], text=text, limit=120)
    assert process.returncode == 0, (words, process.stdout, process.stderr)
    return process.stdout


def query(running_lab: lab.Lab, expression: str) -> list[dict[str, Any]]:
    """Query the samples of an instant query, each with its labels below `metric` and `value` as (time, text)."""
    path = f"{SERVICE.format('prometheus')}/api/v1/query?query={quote(expression, safe='')}"
    loads: list[dict[str, Any]] = json.loads(run_kubectl(running_lab, "get", "--raw", path))["data"]["result"]
    return loads


def query_labels(running_lab: lab.Lab, expression: str, *names: str) -> set[tuple[str, ...]]:
    """Query the values of these labels, of all samples."""
    return {tuple(sample["metric"].get(name, "") for name in names) for sample in query(running_lab, expression)}


def apply(running_lab: lab.Lab, *objects: dict[str, Any]) -> None:
    run_kubectl(running_lab, "apply", "-f", "-", text="\n---\n".join(json.dumps(manifest) for manifest in objects))


@contextmanager
def set_gpus(running_lab: lab.Lab, **words: str) -> Iterator[None]:
    """Set words for GPUs (`host1_0="exporter-silent=1"`), and recover them at the end."""
    expected_words = {gpu.replace("_", ":"): text.split() for gpu, text in words.items()}
    try:
        for gpu, texts in expected_words.items():
            running_lab.set_gpu(gpu, *texts)
        yield
    finally:
        for gpu in expected_words:
            running_lab.set_gpu(gpu, "recover")


def move_prometheus(running_lab: lab.Lab, source: str, target: str) -> None:
    """Move Prometheus, with a new volume, from one node to the other."""
    selection = ("-n", "monitoring", "-l", "app.kubernetes.io/name=prometheus")

    def find_node() -> str:
        path = "jsonpath={.items[?(@.status.containerStatuses[0].ready==true)].spec.nodeName}"
        return run_kubectl(running_lab, "get", "pods", *selection, "-o", path).strip()

    if find_node() == target:
        return
    run_kubectl(running_lab, "cordon", source)
    try:
        run_kubectl(running_lab, "delete", "pvc", "--wait=false", *selection)
        run_kubectl(running_lab, "delete", "pod", "--wait=false", *selection)
        wait_until("Prometheus is ready there", lambda: find_node() == target, limit=300)
    finally:
        run_kubectl(running_lab, "uncordon", source)
    wait_until("Prometheus has scraped its targets", lambda: read_target_health(running_lab) == {"up"}, limit=300)


def read_target_health(running_lab: lab.Lab) -> set[str]:
    """Read the states of all targets: `up`, `down`, and `unknown` before the first scrape. The Service has no endpoint
    for a moment after the pod is ready; then there is no state."""
    path = f"{SERVICE.format('prometheus')}/api/v1/targets?state=active"
    process = running_lab.exec("host1", ["sudo", "kubectl", *ADMIN, "get", "--raw", path], limit=120)
    targets = json.loads(process.stdout)["data"]["activeTargets"] if process.returncode == 0 else []
    return {target["health"] for target in targets}
