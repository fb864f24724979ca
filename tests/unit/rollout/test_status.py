"""`gpustack status`: what was seen on one screen, and unknown, with the reason, where something was not."""

import json
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pytest
from typer.testing import CliRunner

from gpustack.ask.recording import read_recording
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.cli.app import app
from gpustack.exit_status import ExitStatus
from gpustack.rollout import evidence
from gpustack.rollout.status import PROBES, build_status, find_last_run
from gpustack.steps import STEPS
from gpustack.steps.step import select_probes
from tests.worlds.snapshots.answers import read_case

RECORDINGS = Path(__file__).parents[3] / "examples" / "recordings"
RULES = ("alerting.rules", "@cluster")


def load_recording(name: str) -> Snapshot:
    return read_recording(RECORDINGS / f"{name}.jsonl")


def add_alerts(snapshot: Snapshot, case: str) -> Snapshot:
    """Put the answer of a case in the place of that of Prometheus in the recording."""
    answer = replace(snapshot.answers[RULES], stdout=read_case("alerting.rules", case).stdout)
    return replace(snapshot, answers=MappingProxyType({**snapshot.answers, RULES: answer}))


def test_a_whole_cluster_is_known() -> None:
    status = build_status(add_alerts(load_recording("healthy"), "firing"))
    assert status.exit_status == ExitStatus.OK
    assert [(host.node, host.ready, host.gpus, host.allocatable) for host in status.hosts] == [
        ("host01", True, 2, 2),
        ("host02", True, 2, 2),
    ]
    assert {(host.kubelet, host.driver) for host in status.hosts} == {("1.36.4", "595.91.07")}
    assert (status.kubernetes, status.firing_alerts) == ("1.36.4", ("TargetDown",))


def test_a_lost_gpu_is_not_allocatable() -> None:
    assert [host.allocatable for host in build_status(load_recording("gpu-fell-off-bus")).hosts] == [2, 1]


@pytest.mark.parametrize("case", ["none", "twice", "error"])
def test_alerts_without_a_state_are_unknown_and_not_silent(case: str) -> None:
    status = build_status(add_alerts(load_recording("healthy"), case))
    assert (status.firing_alerts, status.exit_status) == (None, ExitStatus.UNKNOWN)
    assert [reason for reason in status.unknown_reasons if reason.startswith("alerts: ")]


def test_a_cluster_without_its_api_is_unknown_with_each_reason_once() -> None:
    status = build_status(load_recording("api-server-down"))
    assert status.exit_status == ExitStatus.UNKNOWN
    assert [(host.node, host.ready, host.allocatable) for host in status.hosts] == [(None, None, None)] * 2
    assert [host.gpus for host in status.hosts] == [2, 2]
    (reason,) = status.unknown_reasons
    assert reason.startswith("Kubernetes, node of host01, allocatable GPUs of host01, ")


def test_a_host_that_was_not_reached_is_unknown() -> None:
    snapshot = add_alerts(load_recording("healthy"), "firing")
    refusal = Reach("host02", "host-ssh-unreachable", "no route to host")
    snapshot = replace(snapshot, reach=MappingProxyType({**snapshot.reach, "host02": refusal}))
    status = build_status(snapshot)
    assert status.exit_status == ExitStatus.UNKNOWN
    assert "host02: no route to host" in status.unknown_reasons
    assert status.hosts[1].unreachable


def test_no_command_of_a_host_is_asked_twice() -> None:
    """A probe that a plan has as well is asked as the plan asks it."""
    inventory = load_recording("healthy").inventory
    assert {probe.id for probe in PROBES} <= {probe.id for probe in select_probes(STEPS, inventory)}
    assert len({probe.id for probe in PROBES}) == len(PROBES)


def test_the_newest_run_is_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpustack.rollout.status.locate_runs", lambda: tmp_path / "runs")
    assert find_last_run() is None
    for name in ("20261129T221000-install-7", "20261128T000000-reset-9", "of-others"):
        (tmp_path / "runs" / name).mkdir(parents=True)
    run = find_last_run()
    assert run
    assert (run.verb, f"{run.time:%Y-%m-%d %H:%M %Z}") == ("install", "2026-11-29 22:10 UTC")
    assert evidence.RUN.fullmatch(run.directory.name)


@pytest.mark.parametrize(
    ("name", "status", "firing_alerts", "texts"),
    [
        ("healthy", 0, [], ["host01  host01  yes    1.36.4   595.91.07     2            2", "no alert is firing"]),
        (
            "api-server-down",
            8,
            None,
            ["host01  unknown  unknown  unknown  595.91.07     2  unknown", "certificate has expired"],
        ),
    ],
)
def test_the_screen_shows_what_is_known(
    name: str, status: int, firing_alerts: list[str] | None, texts: list[str]
) -> None:
    words = ["status", "--from", str(RECORDINGS / f"{name}.jsonl")]
    result = CliRunner().invoke(app, words, env={"COLUMNS": "200"})
    assert result.exit_code == status
    assert [text for text in texts if text not in result.stdout] == [], result.stdout
    document = json.loads(CliRunner().invoke(app, [*words, "-o", "json"]).stdout)
    assert (document["schema"], document["exit"]["code"]) == ("gpustack/status/v1", status)
    assert document["firing_alerts"] == firing_alerts
