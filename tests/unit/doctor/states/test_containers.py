"""Containers that do not run, are not ready or are restarted, whatever the cause: the program's words are reported.

The messages are quoted from public reports, which are named beside them.
"""

import json
from copy import deepcopy
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gpustack.doctor.diagnose import diagnose
from gpustack.probes.kubernetes.pod_states import ENDING_PODS
from tests.unit.doctor.states.objects import (
    GRAFANA,
    build_healthy,
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
from tests.worlds.snapshots.answers import read_case

PROMETHEUS = {
    "app.kubernetes.io/instance": "monitoring-prometheus",
    "app.kubernetes.io/managed-by": "prometheus-operator",
}
EXPORTER = {"app": "nvidia-dcgm-exporter"}
# constructed from prometheus/prometheus#5976: Prometheus has terminationMessagePolicy FallbackToLogsOnError.
QUERY_LOG = (
    "open query log file: open /prometheus/queries.active: permission denied\n"
    "panic: Unable to create mmap-ed active query log"
)
# constructed from containerd/containerd#7844
UNKNOWN_AUTHORITY = (
    'failed to pull and unpack image "registry.example/app:1": failed to resolve image: failed to do request: Head '
    '"https://registry.example/v2/app/manifests/1": tls: failed to verify certificate: x509: certificate signed by '
    "unknown authority"
)


def test_a_healthy_cluster_has_no_abnormal_state() -> None:
    diagnosis = diagnose_items()
    assert (diagnosis.abnormal_states, diagnosis.unknown_observations) == ((), ())


def test_a_container_that_crashes_is_reported_with_its_last_words() -> None:
    pod = make_pod("monitoring", "prometheus-monitoring-prometheus-0", PROMETHEUS)
    pod["status"]["containerStatuses"] = [make_crash_loop("prometheus", 2, QUERY_LOG)]
    diagnosis = diagnose_items(monitoring__pods=[pod])
    (state,) = list_states(diagnosis)
    assert (state.kind, state.severity, state.count) == ("container-not-running", "broken", 7)
    assert (state.locations, state.message) == (("k2",), f"CrashLoopBackOff: exit code 2 (Error): {QUERY_LOG}")
    assert state.onset == build_healthy().started_at.replace(microsecond=0) - timedelta(minutes=20)
    previous = "kubectl -n monitoring logs prometheus-monitoring-prometheus-0 -c prometheus --previous"
    assert state.next_command == previous
    report = render(diagnosis)
    heading = "BROKEN  pod monitoring/prometheus-monitoring-prometheus-0, container prometheus  on k2"
    assert all(words in report for words in (heading, QUERY_LOG.splitlines()[1], "restarts    7 times", previous))
    assert not diagnosis.healthy
    assert diagnosis.exit_status == 1


def test_an_init_container_that_crashes_hides_none_and_is_named() -> None:
    """constructed from grafana/helm-charts#3699: init-chown-data crashes, the others wait for it."""
    pod = make_pod("monitoring", "monitoring-grafana-6b798b4fb7-2wcts", GRAFANA, phase="Pending")
    pod["status"]["initContainerStatuses"] = [make_crash_loop("init-chown-data", 1)]
    pod["status"]["containerStatuses"] = [make_container("grafana", {"waiting": {"reason": "PodInitializing"}})]
    (state,) = list_states(diagnose_items(monitoring__pods=[pod]))
    assert state.subjects == ("pod monitoring/monitoring-grafana-6b798b4fb7-2wcts, init container init-chown-data",)
    assert state.message == "CrashLoopBackOff: exit code 1 (Error)"


def test_the_whole_reason_of_an_image_that_is_not_pulled_is_reported() -> None:
    pod = make_pod("monitoring", "monitoring-grafana-6b798b4fb7-2wcts", GRAFANA, phase="Pending")
    waiting = {
        "reason": "ImagePullBackOff",
        "message": f'Back-off pulling image "app": ErrImagePull: {UNKNOWN_AUTHORITY}',
    }
    pod["status"]["containerStatuses"] = [make_container("grafana", {"waiting": waiting})]
    diagnosis = diagnose_items(monitoring__pods=[pod])
    assert UNKNOWN_AUTHORITY in render(diagnosis)
    assert list_states(diagnosis)[0].next_command.startswith("kubectl -n monitoring describe pod")


@pytest.mark.parametrize(("ready", "severity"), [(True, "risk"), (False, "broken")])
def test_a_container_that_is_killed_again_and_again_is_reported_while_it_runs(*, ready: bool, severity: str) -> None:
    """constructed from NVIDIA/dcgm-exporter#625: the liveness probe ends the exporter, which logs nothing."""
    last = {"exitCode": 137, "reason": "Error", "startedAt": format_time(4), "finishedAt": format_time(2)}
    running = {"running": {"startedAt": format_time(2)}}
    pod = make_pod("gpu-operator", "nvidia-dcgm-exporter-cxhsn", EXPORTER)
    pod["status"]["containerStatuses"] = [
        make_container("nvidia-dcgm-exporter", running, last, ready=ready, restartCount=9)
    ]
    (state,) = list_states(diagnose_items(gpu__pods=[pod]))
    assert (state.kind, state.severity) == ("container-restarts", severity)
    assert (state.message, state.count) == ("exit code 137 (Error)", 9)


@pytest.mark.parametrize(
    ("state", "fields"),
    [
        ({"waiting": {"reason": "ContainerCreating"}}, {}),
        ({"running": {"startedAt": format_time(0.5)}}, {}),
        ({"running": {"startedAt": format_time(1.5)}}, {"started": False}),
        ({"terminated": {"exitCode": 0, "reason": "Completed"}}, {}),
    ],
    ids=["is-created", "is-young", "startup-probe-goes-on", "completed"],
)
def test_a_normal_start_or_end_is_no_abnormal_state(state: dict[str, Any], fields: dict[str, Any]) -> None:
    pod = make_pod("gpu-operator", "nvidia-dcgm-exporter-cxhsn", EXPORTER)
    pod["status"]["conditions"][0]["lastTransitionTime"] = format_time(5)
    pod["status"]["containerStatuses"] = [make_container("nvidia-dcgm-exporter", state, **fields)]
    assert list_states(diagnose_items(gpu__pods=[pod])) == []


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"running": {"startedAt": format_time(5)}}, "It runs, and its readiness probe does not succeed."),
        ({"waiting": {"reason": "ContainerCreating"}}, "ContainerCreating"),
        ({"terminated": {"exitCode": 1, "reason": "Error", "message": "no GPU"}}, "exit code 1 (Error): no GPU"),
    ],
    ids=["not-ready", "created-for-long", "ended"],
)
def test_a_container_that_does_not_serve_is_reported(state: dict[str, Any], message: str) -> None:
    pod = make_pod("gpu-operator", "nvidia-dcgm-exporter-cxhsn", EXPORTER)
    pod["status"]["containerStatuses"] = [make_container("nvidia-dcgm-exporter", state)]
    assert [state.message for state in list_states(diagnose_items(gpu__pods=[pod]))] == [message]


def test_a_pod_of_a_user_in_a_namespace_of_the_platform_is_a_note() -> None:
    pod = make_pod("monitoring", "exporter-of-a-team", {"app": "team"})
    pod["status"]["containerStatuses"] = [make_crash_loop("main", 1)]
    diagnosis = diagnose_items(monitoring__pods=[*read_items("monitoring.pods"), pod])
    assert [state.severity for state in list_states(diagnosis)] == ["note"]
    assert diagnosis.broken_states == ()


def test_containers_with_the_same_words_are_one_state() -> None:
    """The message beside CrashLoopBackOff has the name of each pod, and says only how long the kubelet waits."""
    items = read_items("pods.system")
    names = [entry["metadata"]["name"] for entry in items if entry["metadata"]["name"].startswith("kube-proxy")]
    for restarts, name in enumerate(names, 4):
        find_item(items, name)["status"]["containerStatuses"] = [make_crash_loop("kube-proxy", 1, restarts=restarts)]
    (state,) = list_states(diagnose_items(pods__system=items))
    assert state.subjects == tuple(f"pod kube-system/{name}, container kube-proxy" for name in names)
    assert (state.locations, state.count) == (("k1", "k2"), 5)
    assert "objects" in render(diagnose_items(pods__system=items))


def test_a_list_that_is_missing_leaves_the_others() -> None:
    pod = make_pod("monitoring", "prometheus-monitoring-prometheus-0", PROMETHEUS)
    pod["status"]["containerStatuses"] = [make_crash_loop("prometheus", 2)]
    diagnosis = diagnose_items(monitoring__pods=[pod], pods__system=[{"metadata": {}}])
    unknown_ids = [judgement.id for judgement in diagnosis.unknown_observations]
    assert unknown_ids == ["containers-of-pods-system", "warnings-system"]
    assert len(list_states(diagnosis)) == 1


def test_a_container_of_a_host_that_is_starting_is_a_risk() -> None:
    """constructed from a recording five seconds after a power cut: containerd gives exit code 255 to what it lost."""
    pod = make_pod("gpu-operator", "nvidia-dcgm-exporter-cxhsn", EXPORTER)
    end = {"terminated": {"exitCode": 255, "reason": "Unknown"}}
    pod["status"]["containerStatuses"] = [make_container("nvidia-dcgm-exporter", end)]
    calm = build_snapshot(gpu__pods=[pod])
    units = read_case("units.services", "starting", location="k2")
    moment = replace(calm, answers={**calm.answers, ("units.services", "k2"): units})
    severities = [[state.severity for state in list_states(diagnose(snapshot))] for snapshot in (calm, moment)]
    assert severities == [["broken"], ["risk"]]


def make_killed_container(minutes_ago: float) -> Any:
    """Make a container that runs, and whose run before the kernel ended (kubernetes/kubernetes pkg/kubelet)."""
    container = make_crash_loop("prometheus", 137)
    kill = container["lastState"]["terminated"] | {"reason": "OOMKilled", "finishedAt": format_time(minutes_ago)}
    state = {"running": {"startedAt": format_time(minutes_ago)}}
    return container | {"ready": True, "restartCount": 1, "state": state, "lastState": {"terminated": kill}}


@pytest.mark.parametrize(("minutes", "kinds"), [(60, ["container-killed"]), (3000, [])])
def test_a_container_that_was_killed_for_memory_is_a_risk_for_a_day(minutes: int, kinds: list[str]) -> None:
    pod = make_pod("monitoring", "prometheus-monitoring-prometheus-0", PROMETHEUS)
    pod["status"]["containerStatuses"] = [make_killed_container(minutes)]
    states = list_states(diagnose_items(monitoring__pods=[pod]))
    assert [state.kind for state in states] == kinds
    assert all(state.severity == "risk" and "OOMKilled" in state.message for state in states)


def test_a_container_whose_startup_probe_fails_for_minutes_is_a_risk() -> None:
    (pod,) = read_recorded_items("pods.system", "startup-fails")
    pod["status"]["containerStatuses"][0]["state"]["running"]["startedAt"] = format_time(2.5)
    (state,) = list_states(diagnose_items(pods__system=[pod]), "container-not-ready")
    assert (state.severity, state.subjects) == (
        "risk",
        ("pod kube-system/kube-apiserver-host1, container kube-apiserver",),
    )
    assert state.message == "It runs, and its startup probe does not succeed; in the end the kubelet restarts it."


def test_a_pod_of_a_user_with_gpus_that_its_probe_ends_again_and_again_is_a_note() -> None:
    (pod,) = read_recorded_items("pods.ending", "restarts")
    last = pod["status"]["containerStatuses"][0]["lastState"]["terminated"]
    last |= {"startedAt": format_time(2), "finishedAt": format_time(1)}
    failures = read_recorded_items("pods.probe-failures", "usual")
    diagnosis = diagnose_items(pods__ending=[pod], pods__probe_failures=failures)
    (state,) = list_states(diagnosis, "container-restarts")
    assert (state.severity, state.count) == ("note", 3)
    assert state.message.startswith("exit code 137 (Error); Liveness probe failed: dial tcp 10.244.")
    assert state.message.endswith(":8000: connect: connection refused")


def test_of_pods_that_run_those_with_gpus_that_restart_are_kept() -> None:
    (pod,) = read_recorded_items("pods.ending", "restarts")
    idle, young = deepcopy(pod), deepcopy(pod)
    idle["spec"]["containers"] = [{"resources": {}}]
    young["status"]["containerStatuses"][0]["restartCount"] = 2
    text = ENDING_PODS.prune_output(json.dumps({"items": [idle, pod, young]}))
    assert json.loads(text) == {"items": [pod]}
