"""Conditions of nodes, as a real API server gave them, and nodes without a host."""

from typing import Any

import pytest

from tests.unit.doctor.states.objects import (
    diagnose_items,
    find_item,
    format_time,
    list_states,
    read_items,
    read_recorded_items,
    render,
)


def build_nodes(kind: str, status: str = "") -> list[Any]:
    """Build the healthy nodes; k2 has a condition as the recorded node has it."""
    nodes, recorded_node = read_items("kube.nodes"), find_item(read_recorded_items("kube.nodes", "pressure"), "host1")
    (condition,) = (entry for entry in recorded_node["status"]["conditions"] if entry["type"] == kind)
    conditions = find_item(nodes, "k2")["status"]["conditions"]
    conditions[:] = [entry for entry in conditions if entry["type"] != kind]
    conditions.append(condition | ({"status": status} if status else {}) | {"lastTransitionTime": format_time(5)})
    return nodes


@pytest.mark.parametrize(
    ("nodes", "severities", "message"),
    [
        (build_nodes("DiskPressure"), ["broken"], "DiskPressure=True: kubelet has disk pressure"),
        (build_nodes("DiskPressure", "Unknown"), [], ""),
        (
            build_nodes("KernelDeadlock"),
            ["note"],
            "KernelDeadlock=True: task docker:7 blocked for more than 300 seconds.",
        ),
        (build_nodes("KernelDeadlock", "False"), [], ""),
        (build_nodes("NetworkUnavailable"), [], ""),
    ],
    ids=["pressure", "silent-kubelet", "of-others", "of-others-well", "network-well"],
)
def test_a_condition_that_holds_has_the_words_of_who_set_it(
    nodes: list[Any], severities: list[str], message: str
) -> None:
    states = list_states(diagnose_items(kube__nodes=nodes), "node-condition")
    assert [(state.severity, state.message, state.locations) for state in states] == [
        (severity, message, ("k2",)) for severity in severities
    ]
    assert all(f"{state.onset:%Y-%m-%dT%H:%M:%SZ}" == format_time(5) for state in states)


@pytest.mark.parametrize(("name", "severity"), [("host1", "note"), ("host2", "risk")])
def test_a_node_of_no_host_is_reported(name: str, severity: str) -> None:
    node = find_item(read_recorded_items("kube.nodes", "pressure"), name)
    diagnosis = diagnose_items(kube__nodes=[*read_items("kube.nodes"), node])
    (state,) = list_states(diagnosis, "node-unlisted")
    assert (state.severity, state.subjects, state.locations) == (severity, (f"node {name}",), ("@cluster",))
    assert ("Kubelet stopped posting node status." in state.message) is (severity == "risk")
    assert f"kubectl describe node {name}" in render(diagnosis)


@pytest.mark.parametrize(
    ("count", "minutes", "severities"),
    [(6, 2, ["broken"]), (1, 2, []), (6, 20, [])],
    ids=["again-and-again", "rebooted", "long-ago"],
)
def test_a_node_that_comes_and_goes_is_broken(count: int, minutes: float, severities: list[str]) -> None:
    # kubernetes/kubernetes#80172
    (event,) = read_recorded_items("nodes.losses", "reboot")
    event["involvedObject"]["name"] = "k2"
    event |= {"count": count, "firstTimestamp": format_time(30), "lastTimestamp": format_time(minutes)}
    states = list_states(diagnose_items(nodes__losses=[event]), "node-condition")
    assert [(state.severity, state.count) for state in states] == [(severity, count) for severity in severities]
