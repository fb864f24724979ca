"""States of the cluster that need no catalogue: objects that do not end, have no effect, or refuse."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.states import containers, ended_work, gpus, node_conditions, node_labels, scraped_objects
from gpustack.doctor.states.state import AbnormalState, Observer, observe_all
from tests.unit.doctor.states.objects import (
    build_healthy,
    build_snapshot,
    find_item,
    make_container,
    make_pod,
    read_items,
)
from tests.worlds.snapshots.answers import read_case


def observe_answers(observers: tuple[Observer, ...], *answers: Answer, location: str = CLUSTER) -> list[AbnormalState]:
    healthy = build_healthy()
    new_answers = {(answer.probe, location): answer for answer in answers}
    return list_states(observers, replace(healthy, answers={**healthy.answers, **new_answers}))


def list_states(observers: tuple[Observer, ...], snapshot: Snapshot) -> list[AbnormalState]:
    return list(observe_all(observers, snapshot)[0])


def test_a_namespace_that_does_not_end_is_reported_with_what_keeps_it() -> None:
    """A namespace whose deletion began a second ago is not reported."""
    (state,) = observe_answers(ended_work.OBSERVERS, read_case("kube.ending-namespaces", "stuck"))
    assert (state.severity, state.subjects) == ("broken", ("namespace monitoring",))
    assert state.message.endswith("finalizers remaining: example.com/hold in 1 resource instances")


def test_a_namespace_of_users_that_does_not_end_is_a_note() -> None:
    answer = read_case("kube.ending-namespaces", "stuck", ("2026-11-21T04:59:59Z", "2026-11-21T04:39:59Z"))
    states = observe_answers(ended_work.OBSERVERS, answer)
    assert [(state.severity, state.subjects, state.message) for state in states[1:]] == [
        ("note", ("namespace theirs",), "it is being deleted")
    ]


def make_job(*, failures: int, completion: bool) -> Answer:
    conditions = [{"type": "Complete", "status": "True"}] if completion else []
    job: dict[str, Any] = {
        "metadata": {"name": "gpu-operator-upgrade-crd", "annotations": {"helm.sh/hook": "pre-upgrade"}},
        "status": {"failed": failures, "conditions": conditions},
    }
    return Answer("helm.gpu-jobs", CLUSTER, 0, json.dumps({"items": [job]}))


def test_a_job_is_broken_unless_it_is_complete_in_the_end() -> None:
    (state,) = observe_answers(ended_work.OBSERVERS, make_job(failures=1, completion=False))
    assert (state.severity, state.subjects) == ("broken", ("job gpu-operator/gpu-operator-upgrade-crd",))
    assert observe_answers(ended_work.OBSERVERS, make_job(failures=1, completion=True)) == []
    assert observe_answers(ended_work.OBSERVERS, make_job(failures=0, completion=False)) == []


def test_an_object_that_the_operator_rejects_is_a_note_in_its_words() -> None:
    (state,) = observe_answers(scraped_objects.OBSERVERS, read_case("scrape.rejection-events", "of-a-user"))
    assert (state.kind, state.severity) == ("object-rejected", "note")
    assert 'secrets "shop-token" not found' in state.message


@pytest.mark.parametrize(("case", "count"), [("undefined-receiver", 1), ("control-plane", 0), ("unknown-kind", 0)])
def test_an_object_that_the_operator_does_not_apply_is_broken_in_its_words(case: str, count: int) -> None:
    states = observe_answers(scraped_objects.OBSERVERS, read_case("monitoring.alertmanagers", case))
    matching_states = [state for state in states if state.kind == "object-unreconciled"]
    assert [(state.severity, state.subjects[0]) for state in matching_states] == [
        ("broken", "alertmanager monitoring/monitoring-alertmanager")
    ] * count
    assert all('undefined receiver "pager" used in route' in state.message for state in matching_states)


@pytest.mark.parametrize(
    ("case", "words"),
    [("wrong-label", "no Service has its labels"), ("wrong-port", "has a port metrics"), ("exporter", "")],
)
def test_a_monitor_without_a_service_is_a_risk(case: str, words: str) -> None:
    states = observe_answers(scraped_objects.OBSERVERS, read_case("service-monitors.objects", case))
    assert [state.kind for state in states] == ["monitor-without-service"] * bool(words)
    assert all(words in state.message for state in states)


def test_a_status_of_grafana_that_is_no_success_is_broken() -> None:
    for case, message in (("refused", "HTTP 401"), ("failing", "HTTP 400")):
        states = observe_answers(scraped_objects.OBSERVERS, read_case("grafana.response", case), location="k1")
        assert [(state.kind, state.severity, state.message) for state in states] == [
            ("answer-refused", "broken", message)
        ]


def test_a_data_source_without_a_ready_prometheus_is_no_fault_of_grafana() -> None:
    pods = read_items("monitoring.pods")
    find_item(pods, "prometheus-monitoring-prometheus-0")["status"]["conditions"] = [
        {"type": "Ready", "status": "False", "lastTransitionTime": "2026-11-30T14:39:41Z"}
    ]
    snapshot = build_snapshot(monitoring__pods=pods)
    answers = {**snapshot.answers, ("grafana.response", "k1"): read_case("grafana.response", "failing")}
    assert list_states(scraped_objects.OBSERVERS, replace(snapshot, answers=answers)) == []


def test_a_node_without_a_range_is_broken_beside_others_that_have_one() -> None:
    nodes = read_items("kube.nodes")
    find_item(nodes, "k2")["spec"].pop("podCIDR")
    states = list_states(node_conditions.OBSERVERS, build_snapshot(kube__nodes=nodes))
    assert [(state.kind, state.severity, state.locations) for state in states] == [
        ("node-without-range", "broken", ("k2",))
    ]
    for node in nodes:
        node["spec"].pop("podCIDR", None)
    assert list_states(node_conditions.OBSERVERS, build_snapshot(kube__nodes=nodes)) == []


def test_a_node_that_offers_gpus_of_no_bus_is_broken() -> None:
    (state,) = observe_answers(gpus.OBSERVERS, Answer("gpu.devices", "k2", 0, ""), location="k2")
    assert (state.kind, state.severity, state.locations) == ("gpus-missing", "broken", ("k2",))
    assert state.message == "2 are allocatable, and none is on the PCI bus of the host"


def test_rows_of_memory_to_replace_are_a_risk() -> None:
    (state,) = observe_answers(gpus.OBSERVERS, read_case("scrape.row-remap", "pending"))
    assert (state.severity, state.locations, state.subjects) == ("risk", ("k1",), ("GPU 1 of k1",))
    assert state.message == "DCGM_FI_DEV_ROW_REMAP_PENDING is 1"


def test_a_taint_is_a_note_while_the_node_offers_no_gpu() -> None:
    nodes, gpu_nodes = read_items("kube.nodes"), read_items("gpu.nodes")
    taints = [
        {"key": "team", "effect": "NoSchedule"},
        {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
    ]
    find_item(nodes, "k2")["spec"]["taints"] = taints
    assert list_states(node_labels.OBSERVERS, build_snapshot(kube__nodes=nodes)) == []
    find_item(gpu_nodes, "k2")["status"]["allocatable"]["nvidia.com/gpu"] = "0"
    (state,) = list_states(node_labels.OBSERVERS, build_snapshot(kube__nodes=nodes, gpu__nodes=gpu_nodes))
    assert (state.kind, state.severity, state.locations) == ("node-taint", "note", ("k2",))
    assert state.message == "the node offers no GPU, and has the taint team:NoSchedule"


def test_the_xids_of_a_host_are_a_note() -> None:
    observers = tuple(observer for observer in gpus.OBSERVERS if observer.id == "gpu-xids")
    states = observe_answers(observers, read_case("gpu.kernel-log", "xids"), location="k2")
    assert [(state.kind, state.severity, state.locations) for state in states] == [("gpu-xid", "note", ("k2",))]


def test_a_container_of_a_users_gpu_pod_that_does_not_start_is_a_note() -> None:
    waiting = {"reason": "CreateContainerError", "message": "unresolvable CDI devices nvidia.com/gpu=0"}
    pod = make_pod(
        "team", "trainer", {}, phase="Pending", containerStatuses=[make_container("t", {"waiting": waiting})]
    )
    pod["spec"]["containers"] = [{"name": "t", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]
    (state,) = list_states(containers.OBSERVERS, build_snapshot(pods__pending=[pod]))
    assert (state.severity, state.subjects) == ("note", ("pod team/trainer, container t",))
    assert state.message == "CreateContainerError: unresolvable CDI devices nvidia.com/gpu=0"
    pod["spec"]["containers"] = [{"name": "t", "resources": {}}]
    assert list_states(containers.OBSERVERS, build_snapshot(pods__pending=[pod])) == []


def test_a_dashboard_without_series_is_a_note() -> None:
    dashboards, names = read_case("grafana.dashboards", "wrong-names"), read_case("scrape.dcgm-names", "two-hosts")
    observers = tuple(observer for observer in scraped_objects.OBSERVERS if observer.id == "dashboards")
    (state,) = observe_answers(observers, dashboards, names)
    assert (state.severity, state.subjects) == ("note", ("dashboard monitoring/mine",))
    assert state.message == "Prometheus has no series of DCGM_FI_DEV_TENSOR_ACTIVE"
    assert observe_answers(observers, dashboards, read_case("scrape.dcgm-names", "none")) == []


@pytest.mark.parametrize(("case", "count"), [("not-bound", 1), ("slices-only", 0), ("two-hosts", 0), ("none", 0)])
def test_a_right_that_prometheus_lacks_is_a_risk(case: str, count: int) -> None:
    states = observe_answers(scraped_objects.OBSERVERS, read_case("monitoring.rights", case), location="k1")
    assert [(state.kind, state.severity) for state in states] == [("right-missing", "risk")] * count
    assert all("endpoints in monitoring" in state.message for state in states)


@pytest.mark.parametrize(("case", "count"), [("two", 1), ("narrowed", 0), ("two-hosts", 0)])
def test_operators_for_all_namespaces_overlap(case: str, count: int) -> None:
    states = observe_answers(scraped_objects.OBSERVERS, read_case("monitoring.operators", case))
    assert [(state.kind, state.severity) for state in states] == [("operators-overlap", "risk")] * count


@pytest.mark.parametrize(("label", "count"), [("Hostname", 1), ("hostname", 0)])
def test_a_dashboard_with_a_label_that_no_series_has_is_noted(label: str, count: int) -> None:
    panel = json.dumps({"expr": f'DCGM_FI_DEV_GPU_TEMP{{{label}="h1"}}'})
    dashboard = {"metadata": {"name": "theirs", "namespace": "monitoring"}, "data": {"theirs.json": panel}}
    answer = Answer("grafana.dashboards", CLUSTER, 0, json.dumps({"items": [dashboard]}))
    states = observe_answers(scraped_objects.OBSERVERS, answer)
    assert [(state.severity, state.message) for state in states] == [
        ("note", "it asks for the label Hostname; the series have hostname")
    ] * count
