"""Workloads whose pods the API server refuses, in its words."""

from typing import Any

import pytest

from tests.unit.doctor.states.objects import (
    diagnose_items,
    find_item,
    format_time,
    list_states,
    make_crash_loop,
    make_pod,
    read_items,
    read_recorded_items,
    render,
)

# The words of k8s.io/pod-security-admission, as flannel-io/flannel#2232 and the GPU operator's documentation have them.
POD_SECURITY = (
    'Error creating: pods "nvidia-dcgm-exporter-" is forbidden: violates PodSecurity "baseline:latest": privileged '
    '(container "nvidia-dcgm-exporter" must not set securityContext.privileged=true), hostPath volumes'
)
# constructed from prometheus-community/helm-charts#727
WEBHOOK = (
    'Internal error occurred: failed calling webhook "pods.shop.example": failed to call webhook: Post '
    '"https://gone.shop.svc:443/mutate?timeout=10s": service "gone" not found'
)


def make_event(kind: str, namespace: str, name: str, message: str) -> dict[str, Any]:
    reference = {"kind": kind, "namespace": namespace, "name": name}
    times = {"firstTimestamp": format_time(30), "lastTimestamp": format_time(1), "count": 14}
    return {"involvedObject": reference, "message": message, **times}


@pytest.mark.parametrize(
    ("created_pods", "ready", "count"),
    [(1, 1, 1), (2, 0, 0), (2, 2, 0)],
    ids=["short", "not-ready-since", "complete-since"],
)
def test_a_daemon_set_that_lacks_pods_has_the_words_of_the_api_server(
    created_pods: int, ready: int, count: int
) -> None:
    sets = read_items("gpu.daemon-sets")
    counts = {"currentNumberScheduled": created_pods, "numberReady": ready}
    find_item(sets, "nvidia-dcgm-exporter")["status"] |= counts
    event = make_event("DaemonSet", "gpu-operator", "nvidia-dcgm-exporter", POD_SECURITY)
    diagnosis = diagnose_items(gpu__daemon_sets=sets, pods__refused=[event])
    states = list_states(diagnosis, "pods-refused")
    assert [(state.severity, state.message, state.count) for state in states] == [("broken", POD_SECURITY, 14)] * count
    assert ("BROKEN  daemonset gpu-operator/nvidia-dcgm-exporter" in render(diagnosis)) is bool(count)


def test_a_stateful_set_without_pods_has_the_words_of_the_api_server() -> None:
    sets, events = (
        read_recorded_items("monitoring.stateful-sets", "quota"),
        read_recorded_items("pods.refused", "quota"),
    )
    (state,) = list_states(diagnose_items(monitoring__stateful_sets=sets, pods__refused=events), "pods-refused")
    assert (state.subjects, state.count) == (("statefulset monitoring/prometheus-monitoring-prometheus",), 13)
    assert "is forbidden: exceeded quota: full, requested: pods=1, used: pods=0, limited: pods=0" in state.message


def test_refusals_of_flannel_are_counted_from_the_first_one() -> None:
    sets, events = (
        read_recorded_items("workloads.flannel-daemon-sets", "quota"),
        read_recorded_items("pods.refused", "quota"),
    )
    diagnosis = diagnose_items(workloads__flannel_daemon_sets=sets, pods__refused=events)
    (state,) = list_states(diagnosis, "pods-refused")
    assert (state.subjects, state.severity, state.count) == (("daemonset kube-flannel/kube-flannel-ds",), "broken", 13)
    assert f"{state.onset:%H:%M:%S}" == "20:52:34"


@pytest.mark.parametrize(("kind", "count"), [("DaemonSet", 0), ("ReplicaSet", 1)])
def test_a_daemon_set_whose_pods_nobody_creates_is_broken(kind: str, count: int) -> None:
    sets = read_recorded_items("workloads.flannel-daemon-sets", "quota")
    event = make_event(kind, "kube-flannel", "kube-flannel-ds", POD_SECURITY)
    states = list_states(diagnose_items(workloads__flannel_daemon_sets=sets, pods__refused=[event]), "pods-missing")
    assert [(state.severity, state.message) for state in states] == [("broken", "1 of 2 pods exist")] * count


def make_deployment(minutes_ago: float, *, is_available: bool = False, is_rolled_out: bool = False) -> Any:
    """Make CoreDNS's Deployment as the API server gave it after its deadline, or after it lost its pods."""
    (entry,) = read_recorded_items("workloads.system-deployments", "deadline")
    available, progressing = entry["status"]["conditions"]
    available |= {"status": "True" if is_available else "False", "lastTransitionTime": format_time(minutes_ago)}
    progressing["lastTransitionTime"] = format_time(minutes_ago)
    if is_rolled_out:
        progressing |= {"status": "True", "reason": "NewReplicaSetAvailable"}
    return entry


@pytest.mark.parametrize(
    ("deployment", "severities", "message"),
    [
        (make_deployment(5), ["broken"], 'ReplicaSet "coredns-5bf88c98c5" has timed out progressing.'),
        (make_deployment(5, is_available=True), ["risk"], 'ReplicaSet "coredns-5bf88c98c5" has timed out progressing.'),
        (make_deployment(5, is_rolled_out=True), ["broken"], "Deployment does not have minimum availability."),
        (make_deployment(0.5, is_rolled_out=True), [], ""),
    ],
    ids=["deadline", "old-pods-serve", "pods-lost", "pods-lost-just-now"],
)
def test_a_stalled_deployment_has_the_words_of_its_controller(
    deployment: dict[str, Any], severities: list[str], message: str
) -> None:
    diagnosis = diagnose_items(workloads__system_deployments=[deployment])
    states = list_states(diagnosis, "workload-stalled")
    assert [(state.severity, state.message) for state in states] == [(severity, message) for severity in severities]
    assert ("kubectl -n kube-system describe deployment coredns" in render(diagnosis)) is bool(severities)


def test_a_stalled_deployment_is_not_reported_beside_a_pod_of_it() -> None:
    pod = make_pod("kube-system", "coredns-5bf88c98c5-7fsc4", {"k8s-app": "kube-dns"})
    pod["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "coredns-5bf88c98c5", "controller": True}]
    pod["status"]["containerStatuses"] = [make_crash_loop("coredns", 1)]
    states = list_states(diagnose_items(workloads__system_deployments=[make_deployment(5)], pods__system=[pod]))
    assert [state.kind for state in states] == ["container-not-running"]


SLICE = (
    "unable to ensure pod container exists: failed to create container for [kubepods burstable pod6c1e] : "
    "Timeout waiting for systemd to create kubepods-burstable-pod6c1e.slice"
)
"""As the kubelet of kubernetes/kubernetes#103542 says it."""


@pytest.mark.parametrize(("minutes_ago", "has_words"), [(1, True), (30, False)], ids=["recent", "old"])
def test_a_stalled_deployment_has_the_last_warning_about_its_pod(minutes_ago: float, *, has_words: bool) -> None:
    name = "coredns-5bf88c98c5-7fsc4"
    pod = make_pod("kube-system", name, {"k8s-app": "kube-dns"})
    pod["metadata"]["ownerReferences"] = [{"kind": "ReplicaSet", "name": "coredns-5bf88c98c5", "controller": True}]
    pod["status"] = {"phase": "Pending"}
    event = make_event("Pod", "kube-system", name, SLICE) | {"reason": "FailedCreatePodContainer"}
    event["lastTimestamp"] = format_time(minutes_ago)
    diagnosis = diagnose_items(
        workloads__system_deployments=[make_deployment(5, is_rolled_out=True)],
        pods__system=[pod],
        warnings__system=[event],
    )
    (state,) = list_states(diagnosis, "workload-stalled")
    assert state.message.endswith(f"; pod kube-system/{name}: FailedCreatePodContainer: {SLICE}") == has_words
    assert (f"kubectl -n kube-system describe pod {name}" in render(diagnosis)) == has_words


def test_a_deployment_on_its_way_is_not_reported() -> None:
    deployment = make_deployment(5, is_rolled_out=True)
    deployment["status"]["conditions"][1]["reason"] = "ReplicaSetUpdated"
    assert list_states(diagnose_items(workloads__system_deployments=[deployment])) == []


@pytest.mark.parametrize(("manager", "count"), [("monitoring", 1), ("a-team", 0)])
def test_a_deployment_of_the_platform_says_itself_why_it_has_no_pods(manager: str, count: int) -> None:
    deployments = read_items("monitoring.deployments")
    entry = find_item(deployments, "monitoring-kube-state-metrics")
    entry["metadata"]["labels"] = {"app.kubernetes.io/instance": manager}
    condition = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": WEBHOOK}
    entry["status"] = {**entry["status"], "readyReplicas": 0, "conditions": [condition]}
    diagnosis = diagnose_items(monitoring__deployments=deployments)
    assert [state.message for state in list_states(diagnosis, "pods-refused")] == [WEBHOOK] * count


def test_the_workload_of_a_user_is_not_reported() -> None:
    event = make_event("DaemonSet", "team", "nvidia-dcgm-exporter", POD_SECURITY)
    assert list_states(diagnose_items(pods__refused=[event])) == []
