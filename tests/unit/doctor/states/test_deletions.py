"""Pods that were deleted and do not end, laid over the healthy cluster."""

import json
from typing import Any

import pytest

from gpustack.probes.kubernetes.pod_states import ENDING_PODS
from tests.unit.doctor.states.objects import (
    diagnose_items,
    format_time,
    list_states,
    make_container,
    make_pod,
    read_items,
    read_recorded_items,
    render,
)

EXPORTER = {"app": "nvidia-dcgm-exporter"}
RUNNING = make_container("nvidia-dcgm-exporter", {"running": {"startedAt": format_time(60)}}, ready=True)
# NVIDIA/gpu-operator#303, with the words of the kubelet of that report.
KILL = 'error killing pod: [failed to "KillContainer" with KillContainerError: context deadline exceeded]'


def make_deleted_pod(minutes: float, labels: dict[str, str] = EXPORTER, **fields: Any) -> Any:
    pod = make_pod("gpu-operator", "nvidia-dcgm-exporter-w5nm8", labels, containerStatuses=[RUNNING])
    pod["metadata"] |= {"deletionTimestamp": format_time(minutes), **fields}
    return pod


@pytest.mark.parametrize(
    ("minutes", "labels", "severities"),
    [(1, EXPORTER, []), (5, EXPORTER, ["broken"]), (5, {"app": "shop"}, ["note"])],
    ids=["in-time", "late", "of-a-user"],
)
def test_a_deleted_pod_that_does_not_end_is_reported(
    minutes: float, labels: dict[str, str], severities: list[str]
) -> None:
    states = list_states(diagnose_items(gpu__pods=[make_deleted_pod(minutes, labels)]), "pod-not-ended")
    assert [state.severity for state in states] == severities
    assert {state.message for state in states} <= {
        "it was deleted, and the kubelet of k2 still runs nvidia-dcgm-exporter"
    }


def test_a_finalizer_is_named() -> None:
    pod = make_deleted_pod(5, finalizers=["example.org/backup"])
    (state,) = list_states(diagnose_items(gpu__pods=[pod]), "pod-not-ended")
    assert state.message.endswith("waits for what has set its finalizers example.org/backup")


def make_users_pod(gpus: int, state: dict[str, Any]) -> Any:
    """Make a pod of a user that NVIDIA/gpu-operator#303 leaves in Terminating."""
    container = make_container("train", state, ready=True)
    pod = make_pod("default", "train-0", {}, containerStatuses=[container])
    pod["metadata"] |= {"deletionTimestamp": format_time(5)}
    pod["spec"]["containers"] = [{"resources": {"limits": {"nvidia.com/gpu": str(gpus)} if gpus else {}}}]
    return pod


@pytest.mark.parametrize(
    ("gpus", "state", "severities"),
    [
        (2, {"running": {"startedAt": format_time(60)}}, ["broken"]),
        (2, {"terminated": {"exitCode": 137, "reason": "Error"}}, ["note"]),
        (0, {"running": {"startedAt": format_time(60)}}, []),
    ],
    ids=["holds-gpus", "has-ended", "without-gpus"],
)
def test_a_users_pod_that_keeps_its_gpus_is_broken(gpus: int, state: dict[str, Any], severities: list[str]) -> None:
    diagnosis = diagnose_items(pods__ending=[make_users_pod(gpus, state)])
    states = list_states(diagnosis, "pod-not-ended")
    assert [state.severity for state in states] == severities
    if severities == ["broken"]:
        words = "it was deleted, and the kubelet of k2 still runs train; no other pod gets its 2 GPUs"
        assert states[0].message == words
        assert words in " ".join(render(diagnosis).split())


@pytest.mark.parametrize(
    ("minutes", "gpus", "severities"),
    [(60, 2, ["note"]), (1, 2, []), (60, 0, [])],
    ids=["an-hour", "soon", "without-gpus"],
)
def test_a_users_pod_that_may_keep_its_gpus_for_long_is_a_note(minutes: int, gpus: int, severities: list[str]) -> None:
    # knative-extensions/serving-progressive-rollout#204
    pod = make_users_pod(gpus, {"running": {"startedAt": format_time(90)}})
    pod["metadata"]["deletionTimestamp"] = format_time(-minutes)
    states = list_states(diagnose_items(pods__ending=[pod]), "pod-not-ended")
    assert [state.severity for state in states] == severities
    assert all(
        state.message.endswith("(terminationGracePeriodSeconds); no other pod gets its 2 GPUs until it ends")
        for state in states
    )


def test_only_pods_that_end_are_recorded() -> None:
    ending, running = make_users_pod(1, {}), make_pod("default", "train-1", {})
    text = ENDING_PODS.prune_output(json.dumps({"items": [ending, running]}))
    assert [entry["metadata"]["name"] for entry in json.loads(text)["items"]] == ["train-0"]


def test_a_pod_of_a_lost_node_is_left_to_the_state_of_its_node() -> None:
    nodes = read_items("kube.nodes")
    for node in nodes:
        conditions = node["status"]["conditions"]
        next(condition for condition in conditions if condition["type"] == "Ready")["status"] = "Unknown"
    diagnosis = diagnose_items(kube__nodes=nodes, gpu__pods=[make_deleted_pod(5)])
    assert list_states(diagnosis, "pod-not-ended") == []


def test_the_warning_of_the_kubelet_about_it_is_reported() -> None:
    event = {
        "involvedObject": {"kind": "Pod", "namespace": "gpu-operator", "name": "nvidia-dcgm-exporter-w5nm8"},
        "reason": "FailedKillPod", "message": KILL, "firstTimestamp": format_time(5), "lastTimestamp": format_time(1),
    }  # fmt: skip
    diagnosis = diagnose_items(gpu__pods=[make_deleted_pod(5)], warnings__gpu=[event])
    (state,) = list_states(diagnosis, "pod-not-ended")
    assert state.message.endswith(f"; FailedKillPod: {KILL}")
    assert KILL in render(diagnosis)


def test_a_pod_of_a_user_that_ended_and_is_held_by_a_finalizer_is_a_note() -> None:
    (pod,) = read_recorded_items("pods.ending", "held")
    pod["metadata"]["deletionTimestamp"] = format_time(5)
    (state,) = list_states(diagnose_items(pods__ending=[pod]), "pod-not-ended")
    assert (state.severity, state.subjects) == ("note", ("pod default/trainer2",))
    assert state.message.endswith("waits for what has set its finalizers training.example.com/cleanup")


def test_of_pods_that_ended_those_that_were_deleted_are_asked_for() -> None:
    """A pod that a finalizer holds has ended, and its phase is Succeeded or Failed."""
    assert "status.phase%21%3DPending" in str(ENDING_PODS.question)
