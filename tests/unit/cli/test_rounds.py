"""A diagnosis asks all hosts once, and the control plane a second time only for what is unexplained."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpustack.ask import gather as gathering
from gpustack.ask.probe import Probe
from gpustack.ask.recording import read_recording
from gpustack.ask.snapshot import Snapshot
from gpustack.cli import rounds
from gpustack.cli.rounds import diagnose_hosts
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.second_round import select_logs
from gpustack.doctor.states.state import Severity
from gpustack.events import ignore_event
from gpustack.probes.kubernetes.container_logs import LAST_LINES
from tests.snapshots.fixture import FOLDER, restore_recording
from tests.worlds.snapshots import standalone

CRASHING = "no-proxy-missing-cluster-cidrs"
"""The recording has containers that crash, and a root cause that is far from them."""
Call = dict[str, Any]


def read_fixture(name: str, folder: Path) -> Snapshot:
    path = folder / "recording.jsonl"
    path.write_text(restore_recording(FOLDER / f"{name}.jsonl"))
    return read_recording(path)


def record_rounds(snapshot: Snapshot, monkeypatch: pytest.MonkeyPatch) -> tuple[Snapshot, list[Call]]:
    """Diagnose hosts that answer as the snapshot has it, and without words in a second round."""
    calls: list[Call] = []

    def gather(inventory: Any, probes: Sequence[Probe[Any]], **options: Any) -> Snapshot:
        calls.append({"probes": [probe.id for probe in probes], **options})
        return snapshot if len(calls) == 1 else replace(snapshot, answers={})

    monkeypatch.setattr(gathering, "gather", gather)
    return diagnose_hosts(snapshot.inventory, ignore_event).snapshot, calls


@pytest.mark.parametrize("name", ["healthy", "op-operator-oom", "mon-dcgm-exporter-oom", "cni-plugin-binaries-missing"])
def test_what_is_healthy_or_explained_is_asked_once(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, calls = record_rounds(read_fixture(name, tmp_path), monkeypatch)
    assert len(calls) == 1
    assert LAST_LINES.id not in calls[0]["probes"]


def test_a_host_without_kubernetes_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _, calls = record_rounds(standalone.build_snapshot(standalone.build_installed_answers()), monkeypatch)
    assert len(calls) == 1


def test_the_control_plane_alone_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = read_fixture(CRASHING, tmp_path)
    merged_snapshot, calls = record_rounds(snapshot, monkeypatch)
    _, second = calls
    assert (second["probes"], second["hosts"]) == ([LAST_LINES.id], ("host1",))
    logs = second["variables"]["LOGS"].split()
    assert "gpu-operator/gpu-feature-discovery-4djk6/gpu-feature-discovery" in logs
    assert "monitoring/monitoring-kube-state-metrics-9b8747946-fw5j4/kube-state-metrics/previous" in logs
    assert merged_snapshot.answers == snapshot.answers


@pytest.mark.parametrize(("severity", "count"), [("broken", 0), ("note", 1)])
def test_a_root_cause_that_harms_nothing_explains_no_state(severity: Severity, count: int, tmp_path: Path) -> None:
    diagnosis = diagnose(read_fixture("op-operator-oom", tmp_path))
    (root,) = diagnosis.roots
    verdict = replace(diagnosis.verdict, roots=(replace(root, severity=severity),))
    assert len(select_logs(replace(diagnosis, verdict=verdict))) == count


@pytest.mark.parametrize(("name", "count"), [("healthy", 1), (CRASHING, 2)])
def test_each_round_is_diagnosed_once(name: str, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    diagnosed_snapshots: list[Snapshot] = []

    def count_diagnosis(snapshot: Snapshot) -> Diagnosis:
        diagnosed_snapshots.append(snapshot)
        return diagnose(snapshot)

    monkeypatch.setattr(rounds, "diagnose", count_diagnosis)
    record_rounds(read_fixture(name, tmp_path), monkeypatch)
    assert len(diagnosed_snapshots) == count
