"""Failed and waiting pods: who lost what, in the words of the kubelet and of the scheduler.

The messages are quoted from public reports, which are named beside them.
"""

from copy import deepcopy
from typing import Any

import pytest

from gpustack.doctor.states.failed_pods import find_origin
from tests.unit.doctor.states.objects import (
    diagnose_items,
    find_item,
    format_time,
    list_states,
    make_pod,
    read_items,
    read_recorded_items,
    render,
)

ONE_GPU = [{"resources": {"limits": {"nvidia.com/gpu": "1"}}}]
# constructed from kubernetes/kubernetes#133382 and #138446
REFUSAL = (
    "Pod was rejected: Allocate failed due to no healthy devices present; cannot allocate unhealthy devices "
    "nvidia.com/gpu, which is unexpected"
)
# constructed from opencontainers/runc#5305
SANDBOX_FAILURE = (
    "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to start sandbox "
    f'"{"3b50d03d" * 8}": failed to create containerd task: failed to create shim task: OCI runtime create failed: '
    "runc create failed: unable to start container process: namespace NEWIPC is not supported: unknown"
)
# kubernetes/kubernetes pkg/scheduler/framework/plugins/nodeunschedulable
SCHEDULER_MESSAGE = "0/2 nodes are available: 1 node(s) were unschedulable, 1 node(s) had untolerated taint(s)."


def make_failed_pod(reason: str, message: str, *owners: dict[str, Any], gpus: bool = True) -> dict[str, Any]:
    pod = make_pod("team", "train", {}, phase="Failed", reason=reason, message=message)
    pod["metadata"]["ownerReferences"] = list(owners)
    pod["spec"]["containers"] = ONE_GPU if gpus else [{"resources": {}}]
    return pod


def test_a_bare_pod_that_the_kubelet_rejected_is_broken_for_good() -> None:
    diagnosis = diagnose_items(pods__failed=[make_failed_pod("UnexpectedAdmissionError", REFUSAL)])
    (state,) = list_states(diagnosis, "pod-failed")
    assert (state.severity, state.locations, state.subjects) == ("broken", ("k2",), ("pod team/train",))
    assert all(words in render(diagnosis) for words in (REFUSAL, "it has no controller", "since"))
    assert diagnosis.exit_status == 1


def test_a_rejected_pod_of_a_job_is_a_note() -> None:
    job = {"kind": "Job", "name": "train", "controller": True}
    diagnosis = diagnose_items(pods__failed=[make_failed_pod("UnexpectedAdmissionError", REFUSAL, job)])
    assert [state.severity for state in list_states(diagnosis)] == ["note"]
    assert list_states(diagnosis)[0].message.endswith("; its controller is Job/train")
    assert diagnosis.broken_states == ()


@pytest.mark.parametrize(
    ("minutes_ago", "pods", "severity", "fate"),
    [
        (5, "failed", "broken", "DaemonSet/kube-proxy has not made another one"),
        (0.5, "failed", "risk", "DaemonSet/kube-proxy has not made another one"),
        (5, "replaced", "note", "DaemonSet/kube-proxy has made another one"),
        (5, "elsewhere", "broken", "DaemonSet/kube-proxy has not made another one"),
    ],
)
def test_a_failed_pod_of_the_platform_is_broken_until_it_is_replaced(
    minutes_ago: float, pods: str, severity: str, fate: str
) -> None:
    """The recorded list has another pod of the DaemonSet, on the other node."""
    (failed_pod,) = read_recorded_items("pods.failed", "not-replaced")
    failed_pod["status"]["conditions"][0]["lastTransitionTime"] = format_time(minutes_ago)
    items = read_recorded_items("pods.system", "not-replaced")
    if pods != "failed":
        successor = deepcopy(next(pod for pod in items if pod["metadata"]["name"] == failed_pod["metadata"]["name"]))
        successor["metadata"]["name"], successor["status"] = "kube-proxy-zzzzz", {"phase": "Running"}
        successor["spec"]["nodeName"] = failed_pod["spec"]["nodeName"] if pods == "replaced" else "host3"
        items.append(successor)
    states = list_states(diagnose_items(pods__failed=[failed_pod], pods__system=items), "pod-failed")
    assert [(state.severity, state.message.partition("; ")[2]) for state in states] == [(severity, fate)]


@pytest.mark.parametrize(
    ("reason", "gpus"), [("DeadlineExceeded", True), ("", True), ("Evicted", False)], ids=["own", "ended", "no-gpu"]
)
def test_what_a_pod_of_a_user_does_by_itself_is_not_reported(reason: str, *, gpus: bool) -> None:
    assert list_states(diagnose_items(pods__failed=[make_failed_pod(reason, "words", gpus=gpus)])) == []


def test_a_request_that_the_kubelet_refuses_again_and_again_is_one_note() -> None:
    diagnosis = diagnose_items(pods__failed=read_recorded_items("pods.failed", "forbidden"))
    (state,) = list_states(diagnosis, "pod-failed")
    assert (state.severity, len(state.subjects)) == ("note", 2)
    assert state.message.startswith('SysctlForbidden: Pod was rejected: forbidden sysctl: "net.core.somaxconn"')
    assert "ReplicaSet/serving-" in state.message
    assert state.message.endswith(" makes others, which are refused too")


def test_a_refused_request_without_a_controller_is_for_its_user_to_change() -> None:
    (pod, _) = read_recorded_items("pods.failed", "forbidden")
    del pod["metadata"]["ownerReferences"]
    (state,) = list_states(diagnose_items(pods__failed=[pod]), "pod-failed")
    assert (state.severity, state.message.rpartition("; ")[2]) == ("note", "its user has to change it")


def test_a_shortage_of_any_resource_is_the_doing_of_the_scheduler() -> None:
    assert [find_origin(reason) for reason in ("OutOfnvidia.com/gpu", "Evicted", "Error")] == [
        "scheduling",
        "node",
        None,
    ]


def make_pending_pod(message: str = "", minutes: float = 60, **labels: str) -> dict[str, Any]:
    pod = make_pod("gpu-operator" if labels else "team", "waiting", labels, phase="Pending")
    pod["metadata"]["creationTimestamp"] = format_time(minutes)
    pod["spec"]["containers"] = ONE_GPU
    if message:
        pod["spec"].pop("nodeName")
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
        pod["status"]["conditions"] = [condition]
    return pod


def rename_gpus() -> list[Any]:
    """Rename the GPUs of the healthy nodes as those of the recorded ones are: the kubelet still counts the former."""
    (renamed, *_) = read_recorded_items("gpu.nodes", "renamed")
    nodes = read_items("gpu.nodes")
    for node in nodes:
        for part in ("capacity", "allocatable"):
            names = {name: count for name, count in renamed["status"][part].items() if name.startswith("nvidia.com/")}
            node["status"][part] = {**node["status"][part], **names}
    return nodes


def test_a_pod_that_requests_the_former_name_of_gpus_is_told_the_new_one() -> None:
    diagnosis = diagnose_items(
        gpu__nodes=rename_gpus(), pods__pending=[make_pending_pod("2 Insufficient nvidia.com/gpu.")]
    )
    (state,) = list_states(diagnosis, "pod-unscheduled")
    assert state.message == "2 Insufficient nvidia.com/gpu; nodes offer their GPUs as nvidia.com/gpu.shared"


def test_gpus_that_were_renamed_are_neither_unhealthy_nor_withheld() -> None:
    diagnosis = diagnose_items(gpu__nodes=rename_gpus())
    assert (diagnosis.roots, diagnosis.unexplained_symptoms) == ((), ())
    assert list_states(diagnosis) == []


def make_cordoned_nodes() -> list[Any]:
    nodes = read_items("kube.nodes")
    find_item(nodes, "k2")["spec"]["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    return nodes


@pytest.mark.parametrize(
    ("pod", "is_cordoned", "severities"),
    [
        (make_pending_pod(SCHEDULER_MESSAGE), True, ["broken"]),
        (make_pending_pod(SCHEDULER_MESSAGE), False, ["note"]),
        (make_pending_pod(SCHEDULER_MESSAGE, app="nvidia-dcgm-exporter"), False, ["broken"]),
        (make_pending_pod(SCHEDULER_MESSAGE, minutes=0.5), True, []),
    ],
    ids=["cordoned", "gpus-in-use", "platform", "young"],
)
def test_a_pod_without_a_node_is_reported_in_the_scheduler_s_words(
    pod: dict[str, Any], severities: list[str], *, is_cordoned: bool
) -> None:
    nodes = make_cordoned_nodes() if is_cordoned else read_items("kube.nodes")
    states = list_states(diagnose_items(pods__pending=[pod], kube__nodes=nodes), "pod-unscheduled")
    assert [state.severity for state in states] == severities
    assert {state.message for state in states} <= {SCHEDULER_MESSAGE}


@pytest.mark.parametrize(("minutes", "count"), [(60, 1), (0.5, 0)], ids=["stuck", "young"])
def test_the_end_of_the_kubelet_s_message_about_a_sandbox_is_reported(minutes: float, count: int) -> None:
    pod = make_pending_pod(minutes=minutes, app="nvidia-dcgm-exporter")
    pod["metadata"]["uid"] = "118a38d0-8cc9-4ed6-a21a-310fe9274c11"
    event = {"involvedObject": {"uid": pod["metadata"]["uid"]}, "lastTimestamp": format_time(1)}
    diagnosis = diagnose_items(
        pods__pending=[pod], pods__starting=[pod], pods__sandbox_failures=[{**event, "message": SANDBOX_FAILURE}]
    )
    assert len(list_states(diagnosis, "sandbox-not-created")) == count
    assert ("BROKEN  pod gpu-operator/waiting" in render(diagnosis)) is bool(count)
    assert {state.message for state in list_states(diagnosis)} <= {SANDBOX_FAILURE}
