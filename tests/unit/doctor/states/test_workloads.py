"""Workloads whose pods the API server refuses, in its words."""

from typing import Any

import pytest

from tests.unit.doctor.states.objects import (
    diagnose_items,
    find_item,
    format_time,
    list_states,
    read_items,
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
    event = make_event("StatefulSet", "monitoring", "prometheus-monitoring-prometheus", WEBHOOK)
    diagnosis = diagnose_items(monitoring__pods=[], pods__refused=[event])
    (state,) = list_states(diagnosis, "pods-refused")
    assert (state.subjects, state.message) == (("statefulset monitoring/prometheus-monitoring-prometheus",), WEBHOOK)


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
