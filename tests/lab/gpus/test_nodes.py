"""Nodes are drained and rebooted without losing a job: a bare pod with a GPU, a Deployment, and a budget of zero. The
tests stand in the order of the story."""

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from gpustack_lab import lab
from tests.lab.broken_off import Run as Broken
from tests.lab.conftest import Run
from tests.lab.monitored import apply, run_kubectl
from tests.lab.witness import IMAGE, wait_until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

SPACE = "nodes"
TIMES = ("--wait-for-jobs", "10s", "--timeout", "2m", "--boot-timeout", "10m")


def build_pod(name: str, node: str, gpus: int) -> dict[str, Any]:
    resources = {"limits": {"nvidia.com/gpu": str(gpus)}} if gpus else {}
    container = {"name": "a", "image": IMAGE, "command": ["sleep", "3600"], "resources": resources}
    spec = {"nodeName": node, "terminationGracePeriodSeconds": 1, "containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": SPACE}, "spec": spec}


def build_server() -> dict[str, Any]:
    container = {"name": "a", "image": IMAGE, "command": ["sleep", "3600"]}
    template = {
        "metadata": {"labels": {"app": "server"}},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [container]},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "server", "namespace": SPACE},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "server"}}, "template": template},
    }


def build_budget(count: int) -> dict[str, Any]:
    spec = {"maxUnavailable": count, "selector": {"matchLabels": {"app": "server"}}}
    metadata = {"name": "server", "namespace": SPACE}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata, "spec": spec}


def read_node(two: lab.Lab, name: str) -> tuple[bool, set[str]]:
    """Read whether a node is cordoned, and the annotations of gpustack, without that of a proof."""
    node = json.loads(run_kubectl(two, "get", "node", name, "-o", "json"))
    annotations = {key for key in node["metadata"]["annotations"] if key.startswith("gpustack.io/")}
    return node["spec"].get("unschedulable", False), annotations - {"gpustack.io/proven-gpus"}


def read_boot(two: lab.Lab, host: str) -> str:
    """Read when the first process of a host began, which the kernel says."""
    return str(two.exec(host, ["stat", "-c", "%Y", "/proc/1"], text="", limit=30).stdout)


def reboot(two: lab.Lab, gpustack: Run, *words: str, code: int) -> dict[str, tuple[str, str]]:
    """Reboot, and return the outcome and the reason by node."""
    command = ("node", "reboot", *words, "-i", two.inventory, "--yes", "-o", "json", *TIMES)
    document = json.loads(gpustack(*command, code=code, limit=3000).stdout)
    return {node["node"]: (node["outcome"], node["reason"] or "") for node in document["nodes"]}


def is_ready(two: lab.Lab) -> bool:
    path = "jsonpath={.status.readyReplicas}"
    return run_kubectl(two, "-n", SPACE, "get", "deployment", "server", "-o", path) == "2"


def test_a_check_names_jobs_and_budgets_and_changes_nothing(two: lab.Lab, gpustack: Run) -> None:
    apply(two, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SPACE}})
    apply(two, build_pod("notebook", "host2", 1), build_server(), build_budget(0))
    wait_until("the server is ready", lambda: is_ready(two))
    text = " ".join(gpustack("node", "reboot", "--check", "-i", two.inventory).stdout.split())
    assert "until these have ended: nodes/notebook" in text
    assert "budget server (maxUnavailable 0) allows 0 evictions" in text
    assert read_node(two, "host2") == (False, set())


def test_a_job_and_a_budget_keep_their_nodes_as_they_are(two: lab.Lab, gpustack: Run) -> None:
    boots = [read_boot(two, host) for host in ("host1", "host2")]
    ends = reboot(two, gpustack, "host2", code=1)
    assert ends["host2"][0] == "skipped"
    assert "nodes/notebook" in ends["host2"][1]
    run_kubectl(two, "-n", SPACE, "delete", "pod", "notebook")
    gpustack("node", "drain", "host2", "-i", two.inventory, "--yes", "--timeout", "10s", code=None)
    assert is_ready(two), "a budget of zero is held"
    gpustack("node", "uncordon", "host2", "-i", two.inventory, "--yes", "--unproven")
    assert [read_boot(two, host) for host in ("host1", "host2")] == boots
    assert read_node(two, "host2") == (False, set())


def test_both_hosts_are_rebooted_also_after_kills_at_each_stage(
    two: lab.Lab, gpustack: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The worker is not rebooted again by what continues a killed reboot after its boot."""
    apply(two, build_budget(1))
    boots = {host: read_boot(two, host) for host in ("host1", "host2")}
    words = ("node", "reboot", "-i", str(two.inventory), "--yes", *TIMES)
    stages: dict[str, Callable[[], bool]] = {
        "the worker is cordoned": lambda: read_node(two, "host2")[0],
        "the worker is down": lambda: not is_reachable(two, "host2"),
        "the worker is up again": lambda: is_reachable(two, "host2") and read_boot(two, "host2") != boots["host2"],
    }
    for stage, is_reached in stages.items():
        broken_off = Broken(words, tmp_path_factory.mktemp("killed"), {}).start()
        wait_until(stage, is_reached, limit=300)
        broken_off.kill()
        assert read_node(two, "host2") == (True, {"gpustack.io/cordon", "gpustack.io/reboot"}), stage
    boots["host2 once"] = read_boot(two, "host2")
    ends = reboot(two, gpustack, code=0)
    assert ends == {"host1": ("rebooted", ""), "host2": ("rebooted", "")}
    assert read_boot(two, "host1") != boots["host1"]
    assert read_boot(two, "host2") == boots["host2 once"]
    assert [read_node(two, host) for host in ("host1", "host2")] == [(False, set())] * 2
    wait_until("the server is ready", lambda: is_ready(two), limit=300)


def is_reachable(two: lab.Lab, host: str) -> bool:
    try:
        return two.exec(host, ["true"], text="", limit=10).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def test_a_second_run_changes_nothing(two: lab.Lab, gpustack: Run) -> None:
    boots = [read_boot(two, host) for host in ("host1", "host2")]
    assert "no host asks for a reboot" in gpustack("node", "reboot", "--if-required", "-i", two.inventory).stdout
    assert [read_boot(two, host) for host in ("host1", "host2")] == boots
    run_kubectl(two, "delete", "namespace", SPACE)


def test_the_cordon_of_a_person_survives_a_drain(two: lab.Lab, gpustack: Run) -> None:
    run_kubectl(two, "cordon", "host2")
    try:
        gpustack("node", "drain", "host2", "-i", two.inventory, "--yes")
        gpustack("node", "uncordon", "host2", "-i", two.inventory, "--yes", code=5)
        assert read_node(two, "host2") == (True, set())
    finally:
        gpustack("node", "uncordon", "host2", "-i", two.inventory, "--yes", "--foreign")
