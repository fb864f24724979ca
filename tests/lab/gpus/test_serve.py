"""`gpustack serve` in the cluster: a pod reads it by its Service, and it goes when it is switched off.

The tests of this file stand in the order of the story.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from gpustack_lab import lab
from tests.lab import roads
from tests.lab.conftest import Run
from tests.lab.monitored import apply, run_kubectl
from tests.lab.witness import IMAGE, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

READER = "reader"
LABEL = "app.kubernetes.io/name=gpustack-serve"


@pytest.fixture(scope="module")
def serving(two: lab.Lab, gpustack: Run) -> Iterator[lab.Lab]:
    """A lab with `gpustack serve`, and with a pod that has a GPU and reads it. Both are gone at the end."""
    limits = {"nvidia.com/gpu": "1"}
    container = {"name": "c", "image": IMAGE, "command": ["sleep", "3600"], "resources": {"limits": limits}}
    metadata = {"name": READER, "namespace": "default"}
    roads.set_spec(two, serve={"enabled": True})
    try:
        assert find_differences(two, gpustack) == {"objects-applied", "available"}
        gpustack("install", "-i", two.inventory, "--yes", limit=900)
        apply(two, {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": [container]}})
        run_kubectl(two, "wait", "--for=condition=Ready", f"pod/{READER}", "--timeout=90s")
        yield two
    finally:
        run_kubectl(two, "delete", "pod", READER, "--ignore-not-found", "--now")
        roads.set_spec(two, serve={"enabled": False})
        gpustack("install", "-i", two.inventory, "--yes", limit=900)


def find_differences(two: lab.Lab, gpustack: Run) -> set[str]:
    """Find the checks of the step that differ. Nothing else may differ."""
    states = json.loads(gpustack("plan", "-i", two.inventory, "-o", "json", code=1).stdout)["states"]
    failed_checks = {
        (state["step"], check["check"]) for state in states for check in state["checks"] if check["outcome"] != "ok"
    }
    assert {step for step, _ in failed_checks} == {"serve"}, failed_checks
    return {check for _, check in failed_checks}


def get(two: lab.Lab, path: str) -> tuple[int, dict[str, Any]]:
    """Fetch status and body from the pod. busybox' wget has no body of an error. Lines end as text is read."""
    request = rf"printf 'GET {path} HTTP/1.0\r\n\r\n' | nc -w 20 gpustack-serve.monitoring 9460"
    head, body = re.split(r"\r?\n\r?\n", run_kubectl(two, "exec", READER, "--", "sh", "-c", request), maxsplit=1)
    return int(head.split()[1]), json.loads(body)


def test_a_pod_reads_what_a_pod_does_with_its_age(serving: lab.Lab) -> None:
    path = f"/v1/pods/default/{READER}"
    wait_until("its value is there", lambda: get(serving, f"{path}/sm")[0] == 200, limit=90)
    _, document = get(serving, f"{path}/sm")
    assert 0 <= document["value"] <= 1
    assert document["unit"] == "ratio"
    assert 0 <= document["age_seconds"] <= 120
    (gpu,) = get(serving, path)[1]["gpus"]
    assert gpu["uuid"] in {gpu_of_host.uuid for host in ("host1", "host2") for gpu_of_host in serving.read_gpus(host)}


def test_a_pod_without_data_is_not_found(serving: lab.Lab) -> None:
    status, document = get(serving, "/v1/pods/default/nobody/sm")
    assert (status, document["reference"]) == (404, "serve-no-pod")
    assert "default/nobody" in document["detail"]


def test_its_pod_has_no_token_and_no_volume(serving: lab.Lab) -> None:
    (pod,) = json.loads(run_kubectl(serving, "-n", "monitoring", "get", "pods", "-l", LABEL, "-o", "json"))["items"]
    assert not pod["spec"].get("volumes")
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 0


def test_a_second_install_has_nothing_to_do(serving: lab.Lab, gpustack: Run) -> None:
    assert "nothing to do" in gpustack("install", "-i", serving.inventory, "--yes").stdout


def test_serve_is_removed_when_switched_off(serving: lab.Lab, gpustack: Run) -> None:
    roads.set_spec(serving, serve={"enabled": False})
    assert find_differences(serving, gpustack) == {"leftovers"}
    gpustack("install", "-i", serving.inventory, "--yes", limit=900)
    kinds = "serviceaccount,service,deployment,replicaset,pod"
    words = ("-n", "monitoring", "get", kinds, "-l", LABEL, "-o", "name", "--ignore-not-found")
    wait_until("nothing is left", lambda: not run_kubectl(serving, *words).strip(), limit=90)
    assert "nothing to do" in gpustack("install", "-i", serving.inventory, "--yes").stdout
