"""Errors of programs: when a second round asks for them, and which of them are shown beside what is unexplained. The
lines are those of a lab host (tests/cases/host.logged-errors) at times of these tests."""

import re
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.states.logged_errors import MAX_ERRORS, MAX_STATES
from gpustack.probes.host.logged_errors import LOGGED_ERRORS
from gpustack.probes.host.recent_changes import TIMES
from tests.unit.doctor.states.objects import (
    GRAFANA,
    build_healthy,
    build_snapshot,
    format_time,
    list_states,
    make_container,
    make_pod,
    render,
)
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

RELOADER = "monitoring_prometheus-monitoring-prometheus-0_985aec14/config-reloader"
RELOAD = 'level=error ts=2026 caller=runutil.go:117 msg="function failed. Retrying in next tick" err="trigger reload"'
DISCOVERY = "gpu-operator_gpu-operator-node-feature-discovery-worker-nsg2t_d36c2986/worker"
DMI = 'E1130 17:27:12.851661       1 system.go:111] "failed to get DMI entry" err="no such file or directory"'


def make_unready_pod(minutes_ago: float) -> dict[str, Any]:
    """Make a pod of Grafana that runs and is not ready, for no reason that anything says."""
    pod = make_pod("monitoring", "monitoring-grafana-x", GRAFANA)
    run = {"running": {"startedAt": format_time(minutes_ago)}}
    pod["status"]["containerStatuses"] = [make_container("grafana", run, started=True)]
    pod["status"]["conditions"][0]["lastTransitionTime"] = format_time(minutes_ago)
    return pod


def format_error(
    log: str, line: str, first_minutes_ago: float, minutes_ago: float = 1, *, begin: float = 90, count: int = 3
) -> str:
    times = format_time(max(begin, first_minutes_ago)), format_time(first_minutes_ago), format_time(minutes_ago)
    return f"{log} {count} {' '.join(times)} stderr F {line}\n"


def add_errors(snapshot: Snapshot, *errors: str, host: str = "k2") -> Snapshot:
    text = f"== containers\n{''.join(errors)}== units\n== end\n"
    answer = replace(make_answer(LOGGED_ERRORS.id, text), location=host)
    return replace(snapshot, answers={**snapshot.answers, (LOGGED_ERRORS.id, host): answer})


def list_messages(snapshot: Snapshot) -> list[str]:
    return [state.message for state in list_states(diagnose(snapshot), "errors-logged")]


@pytest.fixture
def unexplained_snapshot() -> Snapshot:
    """Build the answers of a first round, of hosts whose clocks are right."""
    return build_first_round(clock_error=0)


def build_first_round(clock_error: int) -> Snapshot:
    snapshot = build_snapshot(monitoring__pods=[make_unready_pod(20)])
    return replace(snapshot, answers={**snapshot.answers, **build_clocks(clock_error)})


def build_clocks(clock_error: int = 0) -> dict[tuple[str, str], Answer]:
    clock_seconds = int(build_healthy().started_at.timestamp()) + clock_error
    clock = make_answer(TIMES.id, f"== now\n{clock_seconds}\n== booted\n== files\n")
    return {**place_answers("k1", clock), **place_answers("k2", clock)}


def test_an_error_stands_beside_what_nothing_explains(unexplained_snapshot: Snapshot) -> None:
    diagnosis = diagnose(add_errors(unexplained_snapshot, format_error(RELOADER, RELOAD, 21)))
    (state,) = list_states(diagnosis, "errors-logged")
    assert (state.severity, state.message, state.count) == ("note", RELOAD, 3)
    assert state.subjects == ("pod monitoring/prometheus-monitoring-prometheus-0, container config-reloader",)
    report = render(diagnosis)
    assert RELOAD in report
    assert "logs prometheus-monitoring-prometheus-0 -c config-reloader --since 5m" in report


def test_what_was_logged_long_before_is_usual(unexplained_snapshot: Snapshot) -> None:
    errors = format_error(DISCOVERY, DMI, 300), format_error(RELOADER, RELOAD, 21)
    assert list_messages(add_errors(unexplained_snapshot, *errors)) == [RELOAD]


def test_the_newest_errors_of_a_log_and_of_all_are_shown(unexplained_snapshot: Snapshot) -> None:
    errors = [
        format_error(f"monitoring_pod-{pod}_0/main", f"[ERROR] {word * (pod + 1)}", 10 - pod, 1 + 0.5 * number)
        for pod in range(MAX_STATES)
        for number, word in enumerate("abc")
    ]
    messages = list_messages(add_errors(unexplained_snapshot, *errors))
    assert len(messages) == MAX_STATES
    assert messages[:MAX_ERRORS] == ["[ERROR] aaaaaa", "[ERROR] bbbbbb"]


def test_errors_of_an_object_with_a_state_are_not_repeated(unexplained_snapshot: Snapshot) -> None:
    error = format_error("monitoring_monitoring-grafana-x_0/grafana", RELOAD, 5)
    assert list_messages(add_errors(unexplained_snapshot, error)) == []


def test_the_same_error_on_two_hosts_is_one_state(unexplained_snapshot: Snapshot) -> None:
    other_log = DISCOVERY.replace("nsg2t", "q2bgz")
    snapshot = add_errors(unexplained_snapshot, format_error(DISCOVERY, DMI, 5))
    snapshot = add_errors(snapshot, format_error(other_log, DMI.replace("851661", "9"), 6), host="k1")
    (state,) = list_states(diagnose(snapshot), "errors-logged")
    assert sorted(state.locations) == ["k1", "k2"]


def test_a_host_with_another_clock_gives_no_onset() -> None:
    snapshot = add_errors(build_first_round(clock_error=400), format_error(DISCOVERY, DMI, 300))
    (state,) = list_states(diagnose(snapshot), "errors-logged")
    assert state.onset is None


def test_an_error_that_began_in_the_life_of_a_program_is_a_note_of_a_cluster_that_works() -> None:
    error = format_error(RELOADER, RELOAD, 21)
    diagnosis = diagnose(add_errors(build_healthy(), error))
    (state,) = list_states(diagnosis, "errors-logged")
    assert (state.message, diagnosis.exit_status) == (RELOAD, 0)


@pytest.mark.parametrize(("first", "begin", "count"), [(21, 25, 3), (21, 21, 3), (21, 90, 2)])
def test_errors_of_a_start_and_rare_ones_are_none_of_a_cluster_that_works(first: int, begin: int, count: int) -> None:
    error = format_error(RELOADER, RELOAD, first, begin=begin, count=count)
    assert list_messages(add_errors(build_healthy(), error)) == []


CONFLICT = (
    'E1201 01:58:52.263377       1 daemon_controller.go:411] "Unhandled Error" err="gpu-operator/nvidia-mig-manager '
    'failed with : read version: 1664 is not as new as written version: 1678 for group resource daemonsets.apps" '
    'logger="UnhandledError"'
)
"""A line of examples/recordings/healthy.jsonl."""
NO_MANIFESTS = (
    'E1201 02:03:05.602895    2806 file_linux.go:59] "Unable to read config path" err="path does not exist, ignoring" '
    'path="/etc/kubernetes/manifests"'
)
"""A line of examples/recordings/healthy.jsonl, which the kubelet of a worker repeats."""


@pytest.mark.parametrize(("minutes_ago", "count"), [(2, 1), (4, 0)])
def test_an_error_that_stopped_is_none_of_a_cluster_that_works(minutes_ago: float, count: int) -> None:
    log = "kube-system_kube-controller-manager-k1_b22319d5/kube-controller-manager"
    snapshot = add_errors(
        replace(build_healthy(), answers={**build_healthy().answers, **build_clocks()}),
        format_error(log, CONFLICT, 21, minutes_ago),
    )
    assert len(list_messages(snapshot)) == count


@pytest.mark.parametrize(("started_minutes_ago", "count"), [(22, 0), (60, 1)])
def test_an_error_from_the_start_of_a_unit_is_usual(started_minutes_ago: float, count: int) -> None:
    healthy = build_healthy()
    start = int(healthy.started_at.timestamp() - 60 * started_minutes_ago)
    units = healthy.answers["units.services", "k2"]
    blocks = [
        re.sub("(?m)^ActiveEnterTimestamp=.*", f"ActiveEnterTimestamp=@{start}", block)
        if "Id=kubelet.service" in block
        else block
        for block in units.stdout.split("\n\n")
    ]
    times = " ".join(format_time(minutes) for minutes in (90, 21, 1))
    text = f"== containers\n== units\nkubelet 15 {times} k2 kubelet[2806]: {NO_MANIFESTS}\n== end\n"
    answers = {
        ("units.services", "k2"): replace(units, stdout="\n\n".join(blocks)),
        (LOGGED_ERRORS.id, "k2"): replace(make_answer(LOGGED_ERRORS.id, text), location="k2"),
    }
    assert len(list_messages(replace(healthy, answers={**healthy.answers, **answers}))) == count


def test_beside_a_certain_root_cause_no_error_is_shown() -> None:
    healthy = build_healthy()
    sysctls = healthy.answers["kernel.sysctls", "k2"]
    stopped_forwarding = replace(sysctls, stdout=sysctls.stdout.replace("ip_forward 1", "ip_forward 0"))
    broken_snapshot = replace(healthy, answers={**healthy.answers, ("kernel.sysctls", "k2"): stopped_forwarding})
    assert [root.certainty for root in diagnose(broken_snapshot).select_roots("broken")] == ["certain"]
    assert list_messages(add_errors(broken_snapshot, format_error(RELOADER, RELOAD, 21))) == []


def test_recorded_errors_of_units_name_the_program(unexplained_snapshot: Snapshot) -> None:
    answer = replace(read_case(LOGGED_ERRORS.id, "restarted-node"), location="k2")
    answers = {**unexplained_snapshot.answers, (LOGGED_ERRORS.id, "k2"): answer}
    snapshot = replace(unexplained_snapshot, answers=answers)
    errors = list_states(diagnose(snapshot), "errors-logged")
    assert "program kubelet" in {subject for state in errors for subject in state.subjects}
