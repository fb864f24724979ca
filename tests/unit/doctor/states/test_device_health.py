"""The kubelet's health of devices: API types ResourceStatus and ResourceHealth of k8s.io/api core/v1."""

from typing import Any

import pytest

from gpustack.doctor.states.device_health import OBSERVERS
from gpustack.doctor.states.state import observe_all
from tests.unit.doctor.states.objects import build_snapshot, make_container, make_pod


def make_gpu_pod(namespace: str, labels: dict[str, str], health: str) -> Any:
    devices = [{"resourceID": "GPU-1", "health": "Healthy"}, {"resourceID": "GPU-2", "health": health}]
    resources = [{"name": "nvidia.com/gpu", "resources": devices}]
    container = make_container("train", {"running": {}}, allocatedResourcesStatus=resources)
    return make_pod(namespace, "trainer", labels, containerStatuses=[container])


@pytest.mark.parametrize(
    ("health", "labels", "severity"),
    [
        ("Unhealthy", {"app": "nvidia-dcgm-exporter"}, "broken"),
        ("Unhealthy", {"app": "trainer"}, "note"),
        ("Unknown", {"app": "nvidia-dcgm-exporter"}, "note"),
        ("Healthy", {"app": "nvidia-dcgm-exporter"}, ""),
    ],
    ids=["platform", "user", "unknown", "healthy"],
)
def test_a_device_that_is_not_healthy_is_reported(health: str, labels: dict[str, str], severity: str) -> None:
    states, _ = observe_all(OBSERVERS, build_snapshot(gpu__pods=[make_gpu_pod("gpu-operator", labels, health)]))
    assert [(state.kind, state.severity, state.message) for state in states] == [
        ("device-unhealthy", severity, f"nvidia.com/gpu GPU-2: {health}")
    ] * bool(severity)


def test_a_failed_pod_of_a_user_is_reported_once() -> None:
    pod = make_gpu_pod("team", {}, "Unhealthy")
    states, _ = observe_all(OBSERVERS, build_snapshot(pods__failed=[pod], pods__pending=[pod]))
    assert [state.subjects for state in states] == [("pod team/trainer, devices of container train",)]


def test_a_kubelet_that_reports_no_health_has_no_state() -> None:
    pod = make_gpu_pod("gpu-operator", {}, "Unhealthy")
    del pod["status"]["containerStatuses"][0]["allocatedResourcesStatus"]
    assert observe_all(OBSERVERS, build_snapshot(gpu__pods=[pod]))[0] == ()
