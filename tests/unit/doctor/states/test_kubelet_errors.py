"""A kubelet that runs while its node is not Ready is reported with the errors of its log."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.script_file import read_script
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Diagnosis
from gpustack.probes.kubelet import errors
from tests.unit.doctor.states.objects import (
    build_snapshot,
    find_item,
    format_time,
    list_states,
    make_unready_condition,
    read_items,
    render,
)
from tests.worlds.snapshots.answers import read_case

REFUSAL = "node 'host2' cannot read 'gpu-new', only its own Node object"
# Of aws/karpenter-provider-aws#7508 and kubernetes-sigs/cluster-api#8631.
LOG = """\
I1210 12:37:42.998722    2239 kubelet_node_status.go:73] "Attempting to register node" node="gpu-new"
E1210 12:37:43.000051    2239 kubelet_node_status.go:96] "Unable to register node" err="first" node="gpu-new"
W1210 12:37:43.100000    2239 reflector.go:424] failed to list *v1.Service
E1210 12:37:49.990470    2239 controller.go:145] "Failed to ensure lease exists, will retry" err="Unauthorized"
E1210 12:37:50.000051    2239 kubelet_node_status.go:96] "Unable to register node" err="last" node="gpu-new"
Started kubelet.service - kubelet: The Kubernetes Node Agent.
"""


def make_nodes(*, ready: bool) -> list[Any]:
    nodes = read_items("kube.nodes")
    (node,) = (entry for entry in nodes if entry["metadata"]["name"] == "k2")
    condition = next(condition for condition in node["status"]["conditions"] if condition["type"] == "Ready")
    condition |= {"status": str(ready) if ready else "Unknown", "message": "Kubelet stopped posting node status."}
    return nodes


def diagnose_case(nodes: list[Any], case: str = "renamed", *edits: tuple[str, str]) -> Diagnosis:
    snapshot = build_snapshot(kube__nodes=nodes)
    units = snapshot.answers["units.services", "k2"]
    for old, new in edits:
        assert old in units.stdout
        units = replace(units, stdout=units.stdout.replace(old, new))
    new_answers = {("kubelet.errors", "k2"): read_case("kubelet.errors", case), ("units.services", "k2"): units}
    return diagnose(replace(snapshot, answers={**snapshot.answers, **new_answers}))


def test_a_kubelet_whose_host_was_renamed_says_why_its_node_is_not_ready() -> None:
    diagnosis = diagnose_case(make_nodes(ready=False))
    (state,) = list_states(diagnosis, "node-not-ready")
    assert (state.severity, state.locations, state.subjects) == ("broken", ("k2",), ("node k2, kubelet",))
    assert state.message == "Kubelet stopped posting node status."
    assert any(REFUSAL in line for line in state.last_lines)
    assert REFUSAL in render(diagnosis)


def test_a_kubelet_whose_node_was_deleted_is_to_be_restarted() -> None:
    nodes = [node for node in make_nodes(ready=False) if node["metadata"]["name"] != "k2"]
    diagnosis = diagnose_case(nodes, "node-deleted")
    (state,) = list_states(diagnosis, "node-not-ready")
    assert state.message == "it runs, and its node was deleted: it registers one only when it starts"
    assert str(state.next_command).startswith("systemctl restart kubelet")
    assert "systemctl restart kubelet" in render(diagnosis)


def test_a_kubelet_that_cannot_read_its_node_is_not_one_whose_node_was_deleted() -> None:
    """A node that is there and not Ready has another cause, whatever was logged before."""
    (state,) = list_states(diagnose_case(make_nodes(ready=False), "node-deleted"), "node-not-ready")
    assert str(state.next_command).startswith("journalctl -u kubelet")


def test_a_kubelet_of_a_host_without_a_node_is_reported() -> None:
    nodes = [node for node in make_nodes(ready=False) if node["metadata"]["name"] != "k2"]
    (state,) = list_states(diagnose_case(nodes), "node-not-ready")
    assert (state.subjects, state.message) == (
        ("kubelet of k2",), "it runs, and the API server has no node of this host",
    )  # fmt: skip


@pytest.mark.parametrize(("ready", "case"), [(True, "renamed"), (False, "usual")], ids=["ready", "silent"])
def test_errors_of_a_ready_node_and_none_at_all_are_no_state(ready: bool, case: str) -> None:
    assert list_states(diagnose_case(make_nodes(ready=ready), case), "node-not-ready") == []


def test_a_kubelet_that_does_not_run_has_another_state() -> None:
    before = "Id=kubelet.service\nLoadState=loaded\nActiveState=active"
    diagnosis = diagnose_case(make_nodes(ready=False), "renamed", (before, before.replace("=active", "=inactive")))
    assert list_states(diagnosis, "node-not-ready") == []


def test_the_last_error_of_each_place_is_printed_with_its_number(tmp_path: Path) -> None:
    journal = tmp_path / "journalctl"
    journal.write_text(f"#!/bin/sh\ncat <<'END'\n{LOG}END\n")
    journal.chmod(0o755)
    script = read_script(errors.__file__, "errors.sh")
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    process = subprocess.run(["sh", "-s"], input=script, capture_output=True, text=True, env=environment, check=True)
    first, second = process.stdout.splitlines()
    assert first.startswith("2 E1210 12:37:50.000051")
    assert first.endswith('err="last" node="gpu-new"')
    assert second.startswith("1 E1210 12:37:49.990470    2239 controller.go:145]")


def test_a_certain_root_cause_explains_why_the_node_is_not_ready() -> None:
    """The container runtime of the host is stopped, and its failed unit is reported beside the root cause."""
    snapshot = build_snapshot(kube__nodes=make_nodes(ready=False))
    units = snapshot.answers["units.services", "k2"]
    containerd, rest = units.stdout.split("\n\n", 1)
    failed_unit = containerd.replace("ActiveState=active", "ActiveState=failed").replace(
        "Result=success", "Result=exit-code"
    )
    answers = {
        ("kubelet.errors", "k2"): read_case("kubelet.errors", "renamed"),
        ("units.services", "k2"): replace(units, stdout=f"{failed_unit}\n\n{rest}"),
    }
    diagnosis = diagnose(replace(snapshot, answers={**snapshot.answers, **answers}))
    assert [(root.id, root.certainty) for root in diagnosis.verdict.roots] == [("containerd-not-running", "certain")]
    assert list_states(diagnosis, "node-not-ready") == []


OWNER = "monitoring-kube-state-metrics-68548c846f"


def diagnose_stalled_deployment(*, ready: bool) -> Diagnosis:
    """Diagnose a Deployment whose pod is on k2 and not ready, with the words of the controller in a lab whose host was
    renamed (heptio/aws-quickstart#239). The readiness of its container is what the kubelet wrote last."""
    pods, deployments = read_items("monitoring.pods"), read_items("monitoring.deployments")
    pod = find_item(pods, "monitoring-kube-state-metrics")
    pod["spec"]["nodeName"] = "k2"
    pod["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": OWNER, "controller": True}]
    pod["status"]["conditions"] = [make_unready_condition(20)]
    for container in pod["status"]["containerStatuses"]:
        container |= {"ready": False, "started": True, "state": {"running": {"startedAt": format_time(60)}}}
    message = "Deployment does not have minimum availability."
    find_item(deployments, "monitoring-kube-state-metrics")["status"] |= {
        "availableReplicas": 0,
        "readyReplicas": 0,
        "conditions": [
            {"type": "Available", "status": "False", "message": message, "lastTransitionTime": format_time(20)},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
        ],
    }
    answers = {"kube__nodes": make_nodes(ready=ready), "monitoring__pods": pods, "monitoring__deployments": deployments}
    case = read_case("kubelet.errors", "renamed")
    snapshot = build_snapshot(**answers)
    return diagnose(replace(snapshot, answers={**snapshot.answers, ("kubelet.errors", "k2"): case}))


def test_what_lacks_only_pods_of_a_silent_node_is_not_reported_beside_it() -> None:
    diagnosis = diagnose_stalled_deployment(ready=False)
    assert [state.subjects for state in list_states(diagnosis, "node-not-ready")] == [("node k2, kubelet",)]
    assert list_states(diagnosis, "workload-stalled") == []
    assert list_states(diagnosis, "container-not-ready") == []


def test_what_lacks_pods_of_a_ready_node_is_reported() -> None:
    diagnosis = diagnose_stalled_deployment(ready=True)
    (state,) = list_states(diagnosis, "container-not-ready")
    assert (state.severity, state.subjects[0]) == (
        "broken",
        f"pod monitoring/{OWNER}-dnxhk, container kube-state-metrics",
    )
