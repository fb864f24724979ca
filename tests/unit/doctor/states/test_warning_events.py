"""Warnings about objects of the platform, as programs of Kubernetes wrote them, moved in time."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.diagnose import diagnose
from tests.unit.doctor.states.objects import (
    build_snapshot,
    diagnose_items,
    find_item,
    format_time,
    list_states,
    make_container,
    make_crash_loop,
    make_pod,
    read_items,
    read_recorded_items,
    render,
)

WAITING = make_container("coredns", {"waiting": {"reason": "ContainerCreating"}})
COREDNS = "coredns-589f44dc88-fq9zz"
SANDBOX = "FailedCreatePodSandBox"


def read_events(probe: str, case: str, minutes_ago: float, *reasons: str) -> list[Any]:
    """Read recorded events, of these reasons if any are given, as if they had happened so many minutes before."""
    events = [event for event in read_recorded_items(probe, case) if not reasons or event["reason"] in reasons]
    for event in events:
        event |= {"firstTimestamp": format_time(minutes_ago + 1), "lastTimestamp": format_time(minutes_ago)}
    return events


def make_coredns_pod(container: Any, *, is_ready: bool = False) -> Any:
    pod = make_pod("kube-system", COREDNS, {"k8s-app": "kube-dns"}, containerStatuses=[container])
    pod["status"]["conditions"] = [{"type": "Ready", "status": str(is_ready), "lastTransitionTime": format_time(1)}]
    return pod


@pytest.mark.parametrize(
    ("pods", "minutes_ago", "count"),
    [
        ([make_coredns_pod(WAITING)], 5, 1),
        ([make_coredns_pod(WAITING)], 15, 0),
        ([make_coredns_pod(WAITING, is_ready=True)], 5, 0),
        ([make_coredns_pod(WAITING, is_ready=True)], 1, 1),
        ([], 1, 0),
    ],
    ids=["waiting", "long-ago", "ready-since", "ready-and-failing", "gone"],
)
def test_a_warning_about_a_pod_is_a_note_until_it_is_over(pods: list[Any], minutes_ago: float, count: int) -> None:
    events = read_events("warnings.system", "usual", minutes_ago, SANDBOX)
    diagnosis = diagnose_items(warnings__system=events, pods__system=pods)
    states = list_states(diagnosis, "warning")
    assert [(state.severity, state.subjects) for state in states] == [("note", (f"pod kube-system/{COREDNS}",))] * count
    assert (f"{SANDBOX}: Failed to create pod sandbox: rpc error" in render(diagnosis)) is bool(count)
    assert diagnosis.broken_states == ()


def make_event(reason: str, message: str) -> dict[str, Any]:
    """Make an event of the CoreDNS pod. The messages are those of kubernetes/kubernetes pkg/kubelet/events."""
    times = {"firstTimestamp": format_time(20), "lastTimestamp": format_time(1), "count": 17}
    pod = {"kind": "Pod", "namespace": "kube-system", "name": COREDNS}
    return {"involvedObject": pod, "reason": reason, "message": message, **times}


MOUNT = 'MountVolume.SetUp failed for volume "config-volume" : configmap "coredns" not found'
LIVENESS = 'Liveness probe failed: Get "http://10.244.0.5:8080/health": context deadline exceeded'
PROBE = "Readiness probe failed: HTTP probe failed with statuscode: 503"


@pytest.mark.parametrize(
    ("state", "reason", "message", "kind"),
    [
        ({"waiting": {"reason": "ContainerCreating"}}, "FailedMount", MOUNT, "container-not-started"),
        ({"running": {"startedAt": format_time(15)}}, "Unhealthy", PROBE, "container-not-ready"),
        ({"running": {"startedAt": format_time(0.5)}}, "Unhealthy", LIVENESS, "container-restarts"),
    ],
    ids=["mount", "readiness", "liveness"],
)
def test_a_state_that_says_less_than_an_event_has_its_words(
    state: dict[str, Any], reason: str, message: str, kind: str
) -> None:
    end = {"exitCode": 137, "reason": "Error", "startedAt": format_time(4), "finishedAt": format_time(1)}
    is_restarted = kind == "container-restarts"
    container = make_container("coredns", state, end if is_restarted else None, restartCount=9 * is_restarted)
    pod = make_coredns_pod(container)
    pod["status"]["conditions"][0]["lastTransitionTime"] = format_time(15)
    diagnosis = diagnose_items(warnings__system=[make_event(reason, message)], pods__system=[pod])
    (own_state,) = [
        state for state in diagnosis.abnormal_states if state.subjects[0].startswith(f"pod kube-system/{COREDNS}")
    ]
    assert (own_state.kind, own_state.severity) == (kind, "broken")
    assert own_state.message.endswith(f"; {reason}: {message}")
    assert "warnings.system" in {entry.answer.probe for entry in own_state.evidence}
    assert render(diagnosis).count(message) == 1


def test_a_warning_about_a_pod_with_a_state_of_its_own_is_not_repeated() -> None:
    pods = [make_coredns_pod(make_crash_loop("coredns", 1))]
    events = read_events("warnings.system", "usual", 1, SANDBOX)
    states = list_states(diagnose_items(warnings__system=events, pods__system=pods))
    assert [state.kind for state in states] == ["container-not-running"]


def read_cgroup_events() -> list[Any]:
    return read_events("warnings.nodes", "usual", 1, "CgroupV1")


def refuse_cgroup_v1(snapshot: Snapshot) -> Snapshot:
    spec = snapshot.inventory.spec
    kubelet = spec.kubelet.model_copy(update={"fail_cgroup_v1": True})
    inventory = replace(snapshot.inventory, spec=spec.model_copy(update={"kubelet": kubelet}))
    return replace(snapshot, inventory=inventory)


def test_what_the_spec_accepts_is_no_warning() -> None:
    assert list_states(diagnose_items(warnings__nodes=read_cgroup_events()), "warning") == []


def test_warnings_of_one_reason_about_nodes_are_one_note() -> None:
    diagnosis = diagnose(refuse_cgroup_v1(build_snapshot(warnings__nodes=read_cgroup_events())))
    (state,) = list_states(diagnosis, "warning")
    assert state.subjects == ("node host1", "node host2")
    assert state.message.startswith("CgroupV1: cgroup v1 detected.")
    assert state.onset == diagnosis.snapshot.started_at.replace(microsecond=0) - timedelta(minutes=2)


@pytest.mark.parametrize(("refuses", "kinds"), [(True, {"pods-refused"}), (False, {"warning"})])
def test_a_warning_about_a_replica_set_is_told_by_its_deployment(kinds: set[str], *, refuses: bool) -> None:
    events = [
        event
        for event in read_events("warnings.monitoring", "quota", 1)
        if event["involvedObject"]["kind"] == "ReplicaSet"
    ]
    deployments = read_recorded_items("monitoring.deployments", "quota") if refuses else []
    diagnosis = diagnose_items(warnings__monitoring=events, monitoring__deployments=deployments)
    assert {state.kind for state in list_states(diagnosis)} == kinds


def test_an_event_of_the_scheduler_has_its_time_in_another_field() -> None:
    (event,) = read_recorded_items("warnings.keda", "unscheduled")
    assert event["lastTimestamp"] is None
    event |= {"involvedObject": {"kind": "Node", "name": "k2"}, "eventTime": format_time(1)}
    states = list_states(diagnose_items(warnings__nodes=[event]), "warning")
    assert [(state.locations, state.count) for state in states] == [(("k2",), 1)]


@pytest.mark.parametrize(("node_is_ready", "count"), [(True, 1), (False, 0)])
def test_a_warning_about_a_pod_of_a_node_that_is_not_ready_is_left_out(*, node_is_ready: bool, count: int) -> None:
    pod = make_coredns_pod(WAITING)
    pod["spec"]["nodeName"] = "k2"
    nodes = read_items("kube.nodes")
    (ready,) = [entry for entry in find_item(nodes, "k2")["status"]["conditions"] if entry["type"] == "Ready"]
    ready["status"] = "True" if node_is_ready else "Unknown"
    # The reason and message are those of the node controller of Kubernetes 1.36 on a lab, after a kubelet was stopped.
    event = make_event("NodeNotReady", "Node is not ready")
    diagnosis = diagnose_items(kube__nodes=nodes, warnings__system=[event], pods__system=[pod])
    assert len(list_states(diagnosis, "warning")) == count


@pytest.mark.parametrize(("minutes_ago", "count", "states"), [(1, 1, 1), (3, 1, 0), (3, 2, 1), (11, 2, 0)])
def test_a_warning_of_a_ready_node_that_is_not_repeated_is_over(minutes_ago: float, count: int, states: int) -> None:
    times = {"firstTimestamp": format_time(minutes_ago), "lastTimestamp": format_time(minutes_ago), "count": count}
    # As the kubelet of Kubernetes 1.36 reports it once when it starts, recorded on a lab.
    words = {"reason": "InvalidDiskCapacity", "message": "invalid capacity 0 on image filesystem"}
    event = {"involvedObject": {"kind": "Node", "name": "k2"}, **words, **times}
    assert len(list_states(diagnose_items(warnings__nodes=[event]), "warning")) == states


@pytest.mark.parametrize(("created_minutes_ago", "count"), [(5, 0), (6, 1)], ids=["made-since", "made-before"])
def test_a_refusal_is_over_once_its_controller_made_a_pod(created_minutes_ago: float, count: int) -> None:
    """The event is that of examples/recordings/healthy.jsonl, of an operator that made its DaemonSet before the
    ServiceAccount."""
    message = (
        'Error creating: pods "gpu-feature-discovery-" is forbidden: error looking up service account '
        'gpu-operator/nvidia-gpu-feature-discovery: serviceaccount "nvidia-gpu-feature-discovery" not found'
    )
    event = {
        "involvedObject": {"kind": "DaemonSet", "namespace": "gpu-operator", "name": "gpu-feature-discovery"},
        "reason": "FailedCreate",
        "message": message,
        "firstTimestamp": format_time(5),
        "lastTimestamp": format_time(5),
        "count": 1,
    }
    pods = read_items("gpu.pods")
    pod = find_item(pods, "gpu-feature-discovery")
    pod["metadata"] |= {
        "creationTimestamp": format_time(created_minutes_ago),
        "ownerReferences": [{"kind": "DaemonSet", "name": "gpu-feature-discovery", "controller": True}],
    }
    states = list_states(diagnose_items(warnings__gpu=[event], gpu__pods=pods), "warning")
    assert [state.message for state in states] == [f"FailedCreate: {message}"] * count


@pytest.mark.parametrize(("started_minutes_ago", "is_told"), [(4, False), (6, True)])
def test_what_kept_a_pod_from_its_sandbox_is_over_once_a_container_started(
    started_minutes_ago: float, *, is_told: bool
) -> None:
    """The event is a recorded one. The container runs and is not ready, as NVIDIA's wait for the driver."""
    events = read_events("warnings.system", "usual", 5, SANDBOX)
    run = {"running": {"startedAt": format_time(started_minutes_ago)}}
    pod = make_coredns_pod(make_container("coredns", run, started=True))
    diagnosis = diagnose_items(warnings__system=events, pods__system=[pod])
    assert any(SANDBOX in state.message for state in list_states(diagnosis)) is is_told
