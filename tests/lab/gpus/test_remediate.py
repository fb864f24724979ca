"""A GPU with Xid 48 is taken out of service, reset, proven and returned, one rung for each command, and each guard rail
refuses in between. The tests stand in the order of the story.

Unit tests alone trip the further causes of fresh-data (clocks apart), of upgrade (kubelets of several versions, a
driver that is upgraded) and of circuit-breaker (three nodes): tests/unit/cli/test_remediation_guards.py and
test_remediation_bypasses.py.
"""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gpustack_lab import lab
from tests.lab import roads
from tests.lab.conftest import Run
from tests.lab.gpus.aboard import check_aboard, install_aboard
from tests.lab.gpus.test_gpus import count_allocatable
from tests.lab.gpus.test_nodes import SPACE as PODS
from tests.lab.gpus.test_nodes import build_budget, build_pod, build_server, is_ready, read_node
from tests.lab.monitored import apply, run_kubectl
from tests.lab.witness import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

RECORD = "gpustack.io/remediation"
NODE, OTHER_NODE = "host2", "host1"
"""The node of the story, and the control plane, on which Prometheus runs."""
TIMES = ("--wait-for-jobs", "10s", "--timeout", "2m", "--boot-timeout", "10m")


@pytest.fixture(scope="module", autouse=True)
def broken_gpu(two: lab.Lab, gpustack: Run) -> Iterator[None]:
    """Report Xid 48 of a GPU for the time of the story. The diagnostic needs a host engine."""
    path = two.inventory / "group_vars" / "all" / "gpustack.yml"
    before = path.read_text()
    roads.merge_spec(two, gpu={"dcgm": "standalone"})
    gpustack("install", "-i", two.inventory, "--yes", limit=1500)
    two.set_gpu(f"{NODE}:0", "xid=48")
    try:
        yield
    finally:
        two.set_gpu(NODE, "recover")
        run_kubectl(two, "annotate", "node", OTHER_NODE, NODE, f"{RECORD}-")
        run_kubectl(two, "uncordon", NODE)
        run_kubectl(two, "delete", "namespace", PODS, "--ignore-not-found")
        path.write_text(before)
        restart_device_plugin(two, NODE)
        gpustack("install", "-i", two.inventory, "--yes", limit=1500)


def remediate(
    two: lab.Lab, gpustack: Run, *words: str, code: int | None, target: str = "", times: tuple[str, ...] = TIMES
) -> dict[str, Any]:
    """Run the command, and return its document, also that of an error."""
    options = ("-i", two.inventory, "-o", "json", *times)
    began = time.monotonic()
    document: dict[str, Any] = json.loads(
        gpustack("remediate", target or f"{NODE}:0", *words, *options, code=code, limit=3000).stdout
    )
    print(f"{' '.join(words)}: {time.monotonic() - began:.0f} s")
    return document


def check(two: lab.Lab, gpustack: Run, code: int | None = None, target: str = "") -> dict[str, Any]:
    return remediate(two, gpustack, "--check", code=code, target=target)


def take(two: lab.Lab, gpustack: Run, rung: str) -> None:
    """Take the next rung, which is to be this one."""
    assert find_next(check(two, gpustack)) == rung
    document = remediate(two, gpustack, "--yes", code=0)
    assert (document["outcome"], document["reason"]) == ("done", None)


def find_next(document: dict[str, Any]) -> str:
    return next((str(rung["rung"]) for rung in document["rungs"] if rung["rung_state"] == "next"), "")


def list_refusals(two: lab.Lab, gpustack: Run, target: str = "") -> set[str]:
    return {refusal["guard"] for refusal in check(two, gpustack, target=target)["refusals"]}


def read_verdict(two: lab.Lab, gpustack: Run, node: str, gpu: str) -> str:
    words = ("gpu", "health", "--node", node, "--gpu", gpu, "-i", two.inventory, "-o", "json", "-q")
    document = json.loads(gpustack(*words, code=None).stdout)
    return str(document["gpus"][0]["health"])


@contextmanager
def replace_annotation(two: lab.Lab, node: str, key: str, text: str) -> Iterator[None]:
    """Set an annotation of a node for a time, in place of the one that it has."""
    path = f"jsonpath={{.metadata.annotations.{key.replace('.', chr(92) + '.')}}}"
    before = run_kubectl(two, "get", "node", node, "-o", path)
    run_kubectl(two, "annotate", "--overwrite", "node", node, f"{key}={text}")
    try:
        yield
    finally:
        run_kubectl(two, "annotate", "--overwrite", "node", node, f"{key}={before}" if before else f"{key}-")


def build_record(rung: str, ages: list[timedelta], end: str) -> str:
    """Build the record of acts that are so old."""
    moments = [(datetime.now(UTC) - age).isoformat(timespec="seconds") for age in ages]
    acts = [
        {"rung": rung, "begun_at": moment, "author": "ann", "verdict": "reset", "gpus": [], "end": end}
        for moment in moments
    ]
    return json.dumps({"acts": acts})


def test_two_sources_ask_for_a_reset(two: lab.Lab, gpustack: Run) -> None:
    wait_until("the verdict", lambda: read_verdict(two, gpustack, NODE, "0") == "reset", limit=240)
    document = check(two, gpustack, code=0)
    assert (document["health"], find_next(document)) == ("reset", "cordon")
    assert read_node(two, NODE) == (False, set())


def test_without_a_yes_nothing_is_done(two: lab.Lab, gpustack: Run) -> None:
    assert remediate(two, gpustack, code=5)["reference"] == "node-declined"
    assert read_node(two, NODE) == (False, set())


def test_two_signals_refuses_one_source_alone(two: lab.Lab, gpustack: Run) -> None:
    two.set_gpu(f"{OTHER_NODE}:1", "recovery=1")
    try:
        wait_until("the verdict", lambda: read_verdict(two, gpustack, OTHER_NODE, "1") == "watch", limit=240)
        assert "two-signals" in list_refusals(two, gpustack, f"{OTHER_NODE}:1")
    finally:
        two.set_gpu(f"{OTHER_NODE}:1", "recover")


def test_guard_rails_of_the_cluster_refuse_through_the_command(two: lab.Lab, gpustack: Run) -> None:
    run_kubectl(two, "cordon", OTHER_NODE)
    try:
        error = remediate(two, gpustack, "--yes", code=5)
        assert error["reference"] == "remediation-refused"
        assert "last-gpu-node: " in json.dumps(error)
        assert "nodes-out: " in json.dumps(error)
    finally:
        run_kubectl(two, "uncordon", OTHER_NODE)
    with replace_annotation(two, OTHER_NODE, "gpustack.io/reboot", "{}"):
        assert list_refusals(two, gpustack) == {"upgrade"}
    failures = build_record("reset", [timedelta(hours=2), timedelta(hours=3)], "failed")
    with replace_annotation(two, OTHER_NODE, RECORD, failures):
        assert list_refusals(two, gpustack) == {"circuit-breaker"}
    with replace_annotation(two, NODE, RECORD, "{}"):
        assert list_refusals(two, gpustack) == {"fresh-data"}
    assert read_node(two, NODE) == (False, set())


def test_person_cordon_refuses_and_stays(two: lab.Lab, gpustack: Run) -> None:
    run_kubectl(two, "cordon", NODE)
    try:
        assert "person-cordon" in list_refusals(two, gpustack)
        assert remediate(two, gpustack, "--yes", code=5)["reference"] == "remediation-refused"
        assert read_node(two, NODE) == (True, set())
    finally:
        run_kubectl(two, "uncordon", NODE)


def test_care_takes_the_cordon_alone_and_only_with_consent(two: lab.Lab, gpustack: Run) -> None:
    words = ("care", "-i", two.inventory, "-o", "json")
    (named_node,) = json.loads(gpustack(*words, code=1).stdout)["nodes"]
    assert (named_node["node"], named_node["rung"]) == (NODE, "cordon")
    assert read_node(two, NODE) == (False, set())
    path = two.inventory / "group_vars" / "all" / "gpustack.yml"
    before = path.read_text()
    roads.merge_spec(two, care={"cordon": True})
    try:
        for _ in range(2):
            gpustack(*words, code=1)
            assert read_node(two, NODE) == (True, {"gpustack.io/cordon", RECORD})
        assert read_node(two, OTHER_NODE) == (False, set())
    finally:
        path.write_text(before)
        gpustack("node", "uncordon", NODE, "-i", two.inventory, "--yes", code=5)
        gpustack("node", "uncordon", NODE, "-i", two.inventory, "--yes", "--unproven")
        run_kubectl(two, "annotate", "node", NODE, f"{RECORD}-")


def test_prometheus_node_refuses_a_drain_of_the_source_of_verdicts(two: lab.Lab, gpustack: Run) -> None:
    node = OTHER_NODE
    two.set_gpu(f"{node}:1", "xid=48")
    try:
        wait_until("the verdict", lambda: read_verdict(two, gpustack, node, "1") == "reset", limit=240)
        remediate(two, gpustack, "--yes", code=0, target=f"{node}:1")
        assert "prometheus-node" in list_refusals(two, gpustack, f"{node}:1")
        error = remediate(two, gpustack, "--yes", code=5, target=f"{node}:1")
        assert error["reference"] == "remediation-refused"
    finally:
        two.set_gpu(f"{node}:1", "recover")
        gpustack("node", "uncordon", node, "-i", two.inventory, "--yes", "--unproven")
        run_kubectl(two, "annotate", "node", node, f"{RECORD}-")
        restart_device_plugin(two, node)


def restart_device_plugin(two: lab.Lab, node: str) -> None:
    """Restart the device plugin, which offers a GPU that had an Xid only after a restart (k8s-device-plugin#1014)."""
    selection = ("-l", "app=nvidia-device-plugin-daemonset", "--field-selector", f"spec.nodeName={node}")
    run_kubectl(two, "-n", "gpu-operator", "delete", "pod", "--wait=false", *selection)
    wait_until("both GPUs", lambda: count_allocatable(two, node) == "2", limit=240)


def test_a_cordon_is_the_first_rung(two: lab.Lab, gpustack: Run) -> None:
    take(two, gpustack, "cordon")
    assert read_node(two, NODE) == (True, {"gpustack.io/cordon", RECORD})


def test_budgets_refuses_a_drain(two: lab.Lab, gpustack: Run) -> None:
    apply(two, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": PODS}})
    server = build_server()
    server["spec"]["template"]["spec"] |= {"nodeName": NODE}
    apply(two, server, build_budget(0))
    wait_until("the server is ready", lambda: is_ready(two))
    wait_until("the budget counts", lambda: "budgets" in list_refusals(two, gpustack))
    assert remediate(two, gpustack, "--yes", code=5)["reference"] == "remediation-refused"
    run_kubectl(two, "-n", PODS, "delete", "deployment,pdb", "server")


def test_a_bare_job_is_refused_and_not_evicted(two: lab.Lab, gpustack: Run) -> None:
    apply(two, build_pod("notebook", NODE, 1))
    wait_until("it is there", lambda: "notebook" in run_kubectl(two, "-n", PODS, "get", "pod", "-o", "name"))
    assert remediate(two, gpustack, "--yes", code=5)["reference"] == "node-pods-refused"
    run_kubectl(two, "-n", PODS, "delete", "pod", "notebook")


def test_a_drain_is_the_second_rung(two: lab.Lab, gpustack: Run) -> None:
    take(two, gpustack, "drain")
    assert find_next(check(two, gpustack)) == "reset"


def test_limits_of_a_week_and_the_cool_down_refuse(two: lab.Lab, gpustack: Run) -> None:
    with replace_annotation(two, NODE, RECORD, build_record("reset", [timedelta(days=3), timedelta(days=4)], "done")):
        assert list_refusals(two, gpustack) == {"resets-per-week"}
    with replace_annotation(two, NODE, RECORD, build_record("device-plugin", [timedelta(minutes=5)], "done")):
        assert list_refusals(two, gpustack) == {"cool-down"}


def test_reboots_per_week_and_own_host_refuse_a_reboot(
    two: lab.Lab, gpustack: Run, wheel: Path, tmp_path: Path
) -> None:
    """The driver asks for a reboot for a time, as after a reset that did not help."""
    two.set_gpu(f"{NODE}:0", "recovery=2")
    try:
        wait_until("the verdict", lambda: read_verdict(two, gpustack, NODE, "0") == "reboot", limit=240)
        acts = build_record("reboot", [timedelta(days=3), timedelta(days=4)], "done")
        with replace_annotation(two, NODE, RECORD, acts):
            assert {"reboots-per-week"} <= list_refusals(two, gpustack)
            assert remediate(two, gpustack, "--yes", code=5)["reference"] == "remediation-refused"
        assert "own-host" not in list_refusals(two, gpustack)
        install_aboard(two, NODE, "3.13", wheel, tmp_path)
        document = check_aboard(two, NODE, f"{NODE}:0")
        assert "own-host" in {refusal["guard"] for refusal in document["refusals"]}
    finally:
        two.set_gpu(f"{NODE}:0", "recovery=1")
        wait_until("the verdict", lambda: read_verdict(two, gpustack, NODE, "0") == "reset", limit=240)


def test_known_host_refuses_a_reset_of_a_node_that_no_host_is(two: lab.Lab, gpustack: Run, tmp_path: Path) -> None:
    """The inventory of another machine may lack the host. The control plane cannot be left out: it is asked."""
    inventory = roads.copy_inventory(two, tmp_path / "inventory", ["host1"])
    options = ("-i", inventory, "-o", "json")
    document = json.loads(gpustack("remediate", f"{NODE}:0", "--check", *options, code=1).stdout)
    assert "known-host" in {refusal["guard"] for refusal in document["refusals"]}
    assert read_node(two, NODE)[0]


def test_a_reset_is_the_third_rung(two: lab.Lab, gpustack: Run) -> None:
    take(two, gpustack, "reset")
    assert "xid" not in two.read_gpus(NODE)[0].live
    taints = run_kubectl(two, "get", "node", NODE, "-o", "jsonpath={.spec.taints[*].key}")
    assert "gpustack.io/reset" not in taints
    assert read_node(two, NODE)[0]


def test_the_way_back_is_named_and_returns_the_node(two: lab.Lab, gpustack: Run) -> None:
    wait_until("the verdict", lambda: read_verdict(two, gpustack, NODE, "0") == "ok", limit=400)
    document = check(two, gpustack, code=0)
    assert find_next(document) == "diag"
    assert f"gpu diag --cordoned --node {NODE}" in document["next"]
    gpustack("gpu", "diag", "--cordoned", "--node", NODE, "-i", two.inventory, "--yes", limit=900)
    gpustack("prove", "--cordoned", "--limit", NODE, "-i", two.inventory, limit=900)
    gpustack("node", "uncordon", NODE, "-i", two.inventory, "--yes")
    assert read_node(two, NODE) == (False, {RECORD})
