"""A cluster that is broken by no fault of the catalogue is never called healthy: the doctor says what differs.

Each is an edit of a healthy recording. Guards and conditions of edges hold there, and share answers with the checks
that see what is wrong: that is no reason to keep it back.
"""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.recording import read_recording
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Diagnosis
from gpustack.report.doctor.text import render_human
from gpustack.report.terminal import Terminal
from tests.snapshots.fixture import HEALTHY
from tests.worlds.snapshots.answers import read_case

Edit = Callable[[list[Any]], None]
OPERANDS = ("nvidia-container-toolkit", "gpu-feature-discovery", "nvidia-operator-validator", "nvidia-mig-manager")


def select_named(items: list[Any], *beginnings: str) -> list[Any]:
    named_entries = [entry for entry in items if entry["metadata"]["name"].startswith(beginnings)]
    assert named_entries
    return named_entries


def crash_pods(*beginnings: str) -> Edit:
    def edit(items: list[Any]) -> None:
        for pod in select_named(items, *beginnings):
            if pod["spec"]["nodeName"] != "host2":
                continue
            for condition in pod["status"]["conditions"]:
                condition["status"] = (
                    "False" if condition["type"] in ("Ready", "ContainersReady") else condition["status"]
                )
            waits = {"reason": "CrashLoopBackOff", "message": "back-off 5m0s restarting failed container"}
            pod["status"]["containerStatuses"][0] |= {"ready": False, "state": {"waiting": waits}}

    return edit


def run_on_one_node(*beginnings: str) -> Edit:
    def edit(items: list[Any]) -> None:
        for entry in select_named(items, *beginnings):
            entry["status"] |= {"numberReady": 1, "numberAvailable": 1}

    return edit


def set_not_ready(items: list[Any]) -> None:
    status = items[0]["status"]
    status["state"] = "notReady"
    words = "ClusterPolicy is not ready, states not ready: [state-container-toolkit]"
    status["conditions"][0] |= {"status": "False", "reason": "OperandNotReady", "message": words}


def remove_pods(name: str, replicas: int) -> Edit:
    def edit(items: list[Any]) -> None:
        (entry,) = select_named(items, name)
        entry["spec"]["replicas"] = entry["status"]["replicas"] = replicas
        for key in ("readyReplicas", "availableReplicas"):
            del entry["status"][key]

    return edit


WEBHOOK = (
    'Internal error occurred: failed calling webhook "pods.shop.example": failed to call webhook: Post '
    '"https://gone.shop.svc:443/mutate?timeout=10s": service "gone" not found'
)


def add_failure(name: str) -> Edit:
    def edit(items: list[Any]) -> None:
        remove_pods(name, 1)(items)
        (entry,) = select_named(items, name)
        condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": WEBHOOK}
        entry["status"]["conditions"].append(condition)

    return edit


def mark_unschedulable(items: list[Any]) -> None:
    (node,) = select_named(items, "host2")
    node["spec"]["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]


def label_node(items: list[Any]) -> None:
    (node,) = select_named(items, "host2")
    node["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] = "false"


def remove_gpus(items: list[Any]) -> None:
    label_node(items)
    for counts in ("capacity", "allocatable"):
        select_named(items, "host2")[0]["status"][counts]["nvidia.com/gpu"] = "0"


def set_baseline_level(items: list[Any]) -> None:
    (entry,) = select_named(items, "gpu-operator")
    entry["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = "baseline"


def build_change(edit: Edit) -> Callable[[Answer], Answer]:
    def change(answer: Answer) -> Answer:
        loads = json.loads(answer.stdout)
        edit(loads["items"])
        return replace(answer, stdout=json.dumps(loads))

    return change


@pytest.mark.parametrize(
    ("edits", "check", "words"),
    [
        ({"gpu.pods": crash_pods(OPERANDS[0]), "gpu.daemon-sets": run_on_one_node(OPERANDS[0])},
         "gpu-operator/operands", "nvidia-container-toolkit-daemonset 1 of 2"),
        ({"gpu.pods": crash_pods(*OPERANDS), "gpu.daemon-sets": run_on_one_node(*OPERANDS),
          "gpu.cluster-policies": set_not_ready}, "gpu-operator/policy", "states not ready"),
        ({"gpu.cluster-policies": set_not_ready}, "gpu-operator/policy", "[state-container-toolkit]"),
        ({"monitoring.deployments": remove_pods("monitoring-operator", 0)},
         "monitoring/workloads", "scaled to 0"),
        ({"monitoring.deployments": remove_pods("monitoring-grafana", 1),
          "monitoring.pods": crash_pods("monitoring-grafana")}, "monitoring/workloads", "monitoring-grafana 0 of 1"),
        ({"monitoring.deployments": add_failure("monitoring-kube-state-metrics")},
         "monitoring/workloads", f"monitoring-kube-state-metrics 0 of 1: {WEBHOOK}"),
        ({"gpu.deployments": add_failure("gpu-operator-node-feature-discovery-master")},
         "gpu-operator/operands", f"not running: {WEBHOOK}"),
        ({"gpu.nodes": label_node}, "gpu-operator/operands",
         "host2: excluded from the operator by label nvidia.com/gpu.deploy.operands=false"),
        ({"kube.namespaces": set_baseline_level}, "gpu-operator/namespace", "baseline"),
    ],
    ids=["toolkit", "operands", "policy", "operator-of-prometheus", "grafana", "webhook", "webhook-of-gpus",
         "opted-out", "pod-security"],
)  # fmt: skip
def test_what_differs_is_reported(edits: dict[str, Any], check: str, words: str) -> None:
    diagnosis = diagnose(change_recording(edits))
    values = {f"{drift.step}/{drift.check}": drift.result.actual for drift in diagnosis.drift}
    assert words in values.get(check, ""), (values, [root.id for root in diagnosis.roots])


def change_recording(edits: dict[str, Any]) -> Snapshot:
    """Change answers of the healthy recording, by probe."""
    snapshot = read_recording(HEALTHY)
    for probe, edit in edits.items():
        location, change = (CLUSTER, build_change(edit)) if (probe, CLUSTER) in snapshot.answers else ("host1", edit)
        answer = snapshot.answers[probe, location]
        assert change(answer) != answer
        snapshot = replace(snapshot, answers={**snapshot.answers, (probe, location): change(answer)})
    return snapshot


def test_the_label_that_keeps_the_operator_away_stands_with_what_it_takes() -> None:
    diagnosis = diagnose(change_recording({"gpu.nodes": remove_gpus}))
    (symptom,) = diagnosis.verdict.unexplained_symptoms
    assert (symptom.id, symptom.judgements[0].location, diagnosis.roots) == ("st-no-gpu-allocatable", "host2", ())
    assert symptom.judgements[0].result
    assert "nvidia.com/gpu.deploy.operands=false" in symptom.judgements[0].result.actual


def test_coredns_without_a_pod_is_what_breaks_names() -> None:
    """The API calls a Deployment of no replicas available."""

    def refuse(answer: Answer) -> Answer:
        return replace(answer, stdout=re.sub(r"(?m)^(dns \S+) ok$", r"\1 refused", answer.stdout))

    def scale_to_zero(items: list[Any]) -> None:
        (entry,) = select_named(items, "coredns")
        entry["spec"]["replicas"] = 0
        del entry["status"]["readyReplicas"]

    diagnosis = diagnose(change_recording({"kube.deployments": scale_to_zero, "pod-network.paths": refuse}))
    (root,) = diagnosis.roots
    assert (root.id, root.certainty) == ("coredns-scaled-to-nothing", "certain")
    assert [judgement.id for judgement in root.impact] == ["st-dns-broken"]
    assert (diagnosis.verdict.unexplained_symptoms, list_new_drift(diagnosis)) == ((), [])


def list_new_drift(diagnosis: Diagnosis) -> list[tuple[str, str]]:
    """List the checks that differ, without those that differ in the healthy recording too: what gpustack brings
    otherwise since then. Its host1 is in both groups and has the taint of control planes, so no ordinary pod got its
    GPUs: that is true of the recorded cluster."""
    known_checks = {(drift.step, drift.check) for drift in diagnose(read_recording(HEALTHY)).drift}
    assert ("taint", "node-group") in known_checks
    return [(drift.step, drift.check) for drift in diagnosis.drift if (drift.step, drift.check) not in known_checks]


def test_a_cordoned_node_is_noted_with_the_gpus_that_it_keeps() -> None:
    diagnosis = diagnose(change_recording({"kube.nodes": mark_unschedulable}))
    assert (diagnosis.roots, diagnosis.verdict.unexplained_symptoms, list_new_drift(diagnosis)) == ((), (), [])
    assert [(note.id, note.location) for note in diagnosis.verdict.notes] == [("node-cordoned", "host2")]
    with (console := Terminal(width=140)).capture() as capture:
        render_human(console, diagnosis)
    assert "host2 is cordoned; 2 of its GPUs accept no new pods" in capture.get()
    assert "the cluster $ kubectl get --raw /api/v1/nodes\n" in capture.get()


def test_alerts_that_no_board_can_fire_are_no_difference() -> None:
    """The step only names them: an H100 has no counter of retired pages."""
    recording = read_recording(HEALTHY)
    key = ("dcgm.alert-inputs", CLUSTER)
    answers = {**recording.answers, key: read_case(key[0], "lab-hosts", location=CLUSTER)}
    assert list_new_drift(diagnose(replace(recording, answers=answers))) == []
