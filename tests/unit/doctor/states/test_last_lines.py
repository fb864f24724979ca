"""The last lines of a container's log: which logs a second round asks for, and what is shown of its answer."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.recording import read_recording, write_recording
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.second_round import MAX_LOGS, select_logs
from gpustack.probes.kubernetes.container_logs import LAST_LINES
from gpustack.report.doctor.html import render_html
from gpustack.report.doctor.json import render_json
from tests.unit.doctor.states.objects import (
    GRAFANA,
    build_healthy,
    build_snapshot,
    diagnose_items,
    format_time,
    list_states,
    make_container,
    make_crash_loop,
    make_pod,
    render,
)
from tests.worlds.snapshots.answers import make_answer, read_case

EXPORTER = {"app": "nvidia-dcgm-exporter"}
GRAFANA_POD = "my-release-grafana-846948d9f4-vgxm7"
GRAFANA_LOG = f"monitoring/{GRAFANA_POD}/init-chown-data/previous"
LAST_LINE = "chown: /var/lib/grafana/pdf: Permission denied"


def make_grafana_pod() -> dict[str, Any]:
    """Make the pod of grafana/helm-charts#3699: init-chown-data crashes, the others wait for it."""
    pod = make_pod("monitoring", GRAFANA_POD, GRAFANA, phase="Pending")
    pod["status"]["initContainerStatuses"] = [make_crash_loop("init-chown-data", 1)]
    pod["status"]["containerStatuses"] = [make_container("grafana", {"waiting": {"reason": "PodInitializing"}})]
    return pod


def make_exporter_pod(*containers: Any, name: str = "nvidia-dcgm-exporter-cxhsn") -> dict[str, Any]:
    pod = make_pod("gpu-operator", name, EXPORTER)
    pod["status"]["containerStatuses"] = list(containers)
    return pod


def add_last_lines(snapshot: Snapshot, answer: Answer) -> Snapshot:
    """Add an answer of a second round to a snapshot."""
    host = View(snapshot, CLUSTER).acting_host
    placed_answer = replace(answer, location=host)
    return snapshot.add_answers(replace(snapshot, answers={(LAST_LINES.id, host): placed_answer}))


def list_logs(**items_by_probe: list[Any]) -> list[str]:
    return [str(log) for log in select_logs(diagnose_items(**items_by_probe))]


def test_the_log_of_an_init_container_that_crashes_is_asked() -> None:
    assert list_logs(monitoring__pods=[make_grafana_pod()]) == [GRAFANA_LOG]


def test_a_healthy_cluster_is_asked_once() -> None:
    assert list_logs() == []


def test_the_words_of_the_container_stand_below_its_state() -> None:
    """Before the second round the report had the exit code alone."""
    snapshot = add_last_lines(
        build_snapshot(monitoring__pods=[make_grafana_pod()]), read_case(LAST_LINES.id, "grafana")
    )
    diagnosis = diagnose(snapshot)
    (state,) = list_states(diagnosis)
    assert state.last_lines[-1] == LAST_LINE
    report = render(diagnosis)
    assert [line.strip() for line in report.partition("last lines\n")[2].splitlines()[:3]] == list(state.last_lines)
    verbose_report = render(diagnosis, verbose=True)
    assert f"| {LAST_LINE}" in verbose_report
    assert '"metadata"' not in verbose_report
    assert LAST_LINE in render_html(diagnosis)
    (document,) = json.loads(render_json(diagnosis))["abnormal_states"]
    assert document["last_lines"] == list(state.last_lines)
    assert LAST_LINES.id in {entry.answer.probe for entry in state.evidence}


@pytest.mark.parametrize(
    "answer",
    [
        make_answer(LAST_LINES.id, ""),
        make_answer(LAST_LINES.id, f"== {GRAFANA_LOG}\n| unable to retrieve container logs for containerd://2dfb\n"),
        make_answer(LAST_LINES.id, "", rc=127),
        Answer(LAST_LINES.id, "", -1, "", missing_reason="the answer was truncated"),
    ],
    ids=["no-log", "removed-log", "no-kubectl", "truncated"],
)
def test_a_second_round_without_an_answer_changes_no_diagnosis(answer: Answer) -> None:
    snapshot = build_snapshot(monitoring__pods=[make_grafana_pod()])
    before, after = diagnose(snapshot), diagnose(add_last_lines(snapshot, answer))
    assert after.abnormal_states == before.abnormal_states
    assert after.unknown == before.unknown
    assert "last lines" not in render(after)


@pytest.mark.parametrize(
    ("container", "logs"),
    [
        (make_crash_loop("main", 1), ["main/previous"]),
        (make_container("main", {"terminated": {"exitCode": 1, "reason": "Error"}}), ["main"]),
        (make_container("main", {"running": {"startedAt": format_time(30)}}), ["main"]),
        (make_container("main", {"waiting": {"reason": "ImagePullBackOff", "message": "no such image"}}), []),
        (make_crash_loop("main", 2, "open query log file: permission denied"), []),
    ],
    ids=["crashes", "ended", "not-ready", "never-ran", "kubelet-has-its-words"],
)
def test_the_log_is_that_of_the_run_that_says_why(container: Any, logs: list[str]) -> None:
    pod = make_exporter_pod(container)
    assert list_logs(gpu__pods=[pod]) == [f"gpu-operator/nvidia-dcgm-exporter-cxhsn/{log}" for log in logs]


def test_the_log_of_a_container_of_a_user_is_not_asked() -> None:
    pod = make_pod("monitoring", "exporter-of-a-team", {"app": "team"})
    pod["status"]["containerStatuses"] = [make_crash_loop("main", 1)]
    assert list_logs(monitoring__pods=[pod]) == []


def test_a_name_that_is_no_name_of_kubernetes_is_not_asked() -> None:
    """The names come from an answer, and go into a script."""
    names = ("a b", "$(reboot)", "--all", "x\ny", "../secrets/x", "x?limit=1")
    assert list_logs(gpu__pods=[make_exporter_pod(make_crash_loop(name, 1)) for name in names]) == []


def test_the_most_frequent_states_of_broken_containers_are_asked_first() -> None:
    many_pods = [make_exporter_pod(make_crash_loop("worker", 3), name=f"nvidia-worker-{number}") for number in range(3)]
    single_pods = [
        make_exporter_pod(make_crash_loop(f"c{number}", 1), name=f"nvidia-x-{number}") for number in range(20)
    ]
    logs = list_logs(gpu__pods=[*single_pods, *many_pods])
    assert logs[0] == "gpu-operator/nvidia-worker-0/worker/previous"
    assert len(logs) == MAX_LOGS


def test_a_secret_in_a_log_is_not_recorded(tmp_path: Path) -> None:
    text = f'== {GRAFANA_LOG}\n| level=error msg="login failed" password=hunter2-hunter2\n'
    snapshot = add_last_lines(build_healthy(), make_answer(LAST_LINES.id, text))
    write_recording(snapshot, tmp_path / "taken.jsonl")
    assert "hunter2" not in (tmp_path / "taken.jsonl").read_text()
    answer = read_recording(tmp_path / "taken.jsonl").answers[LAST_LINES.id, View(snapshot, CLUSTER).acting_host]
    ((line,),) = LAST_LINES.extract_fact(answer).values()
    assert line.startswith('level=error msg="login failed" password=')


def test_a_later_round_changes_no_time_and_no_earlier_answer() -> None:
    snapshot = build_healthy()
    key = next(iter(snapshot.answers))
    later = replace(snapshot, started_at=snapshot.started_at.replace(year=2030), answers={key: Answer(*key, 1, "x")})
    merged_snapshot = snapshot.add_answers(later)
    assert (merged_snapshot.started_at, merged_snapshot.answers) == (snapshot.started_at, snapshot.answers)
