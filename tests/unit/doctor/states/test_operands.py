"""Logs of containers, DaemonSets and the ClusterPolicy explain why pods of the GPU operator do not work."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.states import operands
from gpustack.doctor.states.state import AbnormalState, observe_all
from tests.unit.doctor.states.objects import build_healthy, find_item, list_states, make_crash_loop, read_items
from tests.worlds.snapshots.answers import read_case

EXPORTER = "nvidia-dcgm-exporter"
PLUGIN = "device-plugin"
NO_DEVICES = "No devices found. Waiting indefinitely."
ERROR = "Not collecting DCP metrics: This request is serviced by a module of DCGM that is not currently loaded"


def observe(*answers: Answer) -> list[AbnormalState]:
    healthy = build_healthy()
    new_answers = {(answer.probe, answer.location): answer for answer in answers}
    return list(observe_all(operands.OBSERVERS, replace(healthy, answers={**healthy.answers, **new_answers}))[0])


def make_pods(items: list[Any]) -> Answer:
    return Answer("gpu.pods", CLUSTER, 0, json.dumps({"items": items}))


def find_exporter(items: list[Any]) -> Any:
    return next(
        pod for pod in items if pod["metadata"]["name"].startswith(EXPORTER) and pod["spec"]["nodeName"] == "k2"
    )


def make_log(pod: Any) -> Answer:
    return Answer(
        "gpu.logs",
        "k2",
        0,
        f"== logs\n{pod['metadata']['name']} {EXPORTER} 2026-11-22T16:30:38.084600958Z stderr F {ERROR}\n",
    )


def set_ready(pod: Any, *, ready: bool) -> None:
    for container in pod["status"]["containerStatuses"]:
        container["ready"] = ready
    for condition in pod["status"]["conditions"]:
        if condition["type"] == "Ready":
            condition["status"] = str(ready)


@pytest.mark.parametrize("ready", [True, False])
def test_an_error_in_the_log_counts_while_the_container_is_not_ready(*, ready: bool) -> None:
    items = read_items("gpu.pods")
    set_ready(pod := find_exporter(items), ready=ready)
    states = observe(make_pods(items), make_log(pod))
    assert [(state.kind, state.severity, state.message) for state in states] == [("container-log", "risk", ERROR)] * (
        not ready
    )


def test_a_container_that_crashes_has_the_errors_of_its_log_beside_it() -> None:
    items = read_items("gpu.pods")
    set_ready(pod := find_exporter(items), ready=False)
    pod["status"]["containerStatuses"] = [make_crash_loop(EXPORTER, 1)]
    healthy, log = build_healthy(), make_log(pod)
    answers = {**healthy.answers, ("gpu.pods", CLUSTER): make_pods(items), ("gpu.logs", "k2"): log}
    states = [
        state for state in list_states(diagnose(replace(healthy, answers=answers))) if EXPORTER in state.subjects[0]
    ]
    assert [(state.kind, state.last_lines) for state in states] == [("container-not-running", (ERROR,))]


@pytest.mark.parametrize(("socket", "count"), [("", 1), ("nvidia-gpu.sock 1795320429\n", 0)])
def test_a_device_plugin_that_registers_nothing_is_broken_with_its_log(socket: str, count: int) -> None:
    """The answers are constructed from kaito-project/kaito#2326: the plugin is Running, CDI has no description of the
    devices, and the node offers none."""
    nodes = read_items("gpu.nodes")
    for kind in ("capacity", "allocatable"):
        find_item(nodes, "k2")["status"][kind]["nvidia.com/gpu"] = "0"
    pod = next(
        pod for pod in read_items("gpu.pods") if PLUGIN in pod["metadata"]["name"] and pod["spec"]["nodeName"] == "k2"
    )
    name = pod["metadata"]["name"]
    files = f"== marks\ndriver-ready\n== sockets\nkubelet.sock 1795319843\n{socket}== fabric\n0\nnone\n== devices\n"
    log = f"== logs\n{name} nvidia-device-plugin 2026-11-22T16:30:38.0846Z stderr F {NO_DEVICES}\n"
    healthy = build_healthy()
    changed_answers = (
        Answer("gpu.nodes", CLUSTER, 0, json.dumps({"items": nodes})),
        Answer("gpu.plugin-files", "k2", 0, files),
        Answer("gpu.logs", "k2", 0, log),
    )
    answers = {**healthy.answers, **{(answer.probe, answer.location): answer for answer in changed_answers}}
    diagnosis = diagnose(replace(healthy, answers=answers))
    states = [state for state in list_states(diagnosis) if state.kind == "container-log"]
    assert [(state.severity, state.locations, state.last_lines) for state in states] == [
        ("broken", ("k2",), (NO_DEVICES,))
    ] * count
    assert [root.id for root in diagnosis.roots if root.certainty == "certain"] == []


def test_a_node_that_no_daemon_set_covers_is_noted() -> None:
    items = [pod for pod in read_items("gpu.pods") if pod["spec"].get("nodeName") != "k2"]
    for pod in items:
        pod["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "name": "worker", "controller": True}]
    nodes = read_items("gpu.nodes")
    node = find_item(nodes, "k2")
    for counts in ("capacity", "allocatable"):
        node["status"][counts]["nvidia.com/gpu"] = "0"
    empty_nodes = Answer("gpu.nodes", CLUSTER, 0, json.dumps({"items": nodes}))
    (state,) = observe(make_pods(items), empty_nodes)
    assert (state.kind, state.severity, state.locations) == ("node-uncovered", "note", ("k2",))
    assert state.message == "it has no pod of worker: their node selector, affinity or a taint of the node excludes it"
    assert observe(make_pods(items)) == []
    sets = read_items("gpu.daemon-sets")
    sets[0]["metadata"]["name"] = "worker"
    sets[0]["status"] |= {"desiredNumberScheduled": 2, "currentNumberScheduled": 1}
    refused_sets = Answer("gpu.daemon-sets", CLUSTER, 0, json.dumps({"items": sets}))
    assert observe(make_pods(items), empty_nodes, refused_sets) == [], "its controller wants a pod there"


@pytest.mark.parametrize(("case", "count"), [("no-gpu-nodes", 1), ("ready", 0), ("not-ready", 0), ("no-such-kind", 0)])
def test_a_policy_that_is_ready_for_another_reason_is_noted(case: str, count: int) -> None:
    states = observe(read_case("gpu.cluster-policies", case, location=CLUSTER))
    assert [(state.kind, state.severity) for state in states] == [("policy-condition", "note")] * count
    assert all(state.message.startswith("NoGPUNodes: No GPU node found") for state in states)
