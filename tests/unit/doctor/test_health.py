"""The report names only facts that were read, here from recordings."""

from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.ask.recording import read_recording
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.health import list_facts
from gpustack.report.doctor.format import describe_facts
from tests.snapshots.fixture import FOLDER, restore_recording
from tests.worlds.snapshots import cluster


def read_snapshot(name: str, folder: Path) -> Snapshot:
    (folder / "recording").write_text(restore_recording(FOLDER / f"{name}.jsonl"))
    return read_recording(folder / "recording")


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        (
            "healthy",
            [
                "2 of 2 nodes Ready",
                "22 of 22 pods of gpu-operator, monitoring ready",
                "4 GPUs allocatable",
                "15 of 15 scrape jobs up",
                "names resolve in pods on 2 of 2 hosts",
            ],
        ),
        # No GPUs and no monitoring, and its API was not asked for pods.
        ("healthy-vm", ["1 of 1 node Ready", "names resolve in pods on 1 of 1 host"]),
        # The API server is down.
        ("etcd-slow-disk", ["names resolve in pods on 2 of 2 hosts"]),
    ],
)
def test_only_what_was_read_is_said(name: str, facts: list[str], tmp_path: Path) -> None:
    assert list_facts(read_snapshot(name, tmp_path)) == facts


def test_what_does_not_work_is_no_part_of_a_whole(tmp_path: Path) -> None:
    facts = list_facts(read_snapshot("mon-dcgm-exporter-oom", tmp_path))
    assert "21 of 22 pods of gpu-operator, monitoring ready" in facts


def test_nothing_is_said_without_an_answer() -> None:
    assert list_facts(replace(cluster.build_snapshot(), answers={})) == []


def test_a_cluster_of_which_much_is_unknown_is_not_called_healthy(tmp_path: Path) -> None:
    diagnosis = diagnose(read_snapshot("healthy-vm", tmp_path))
    assert (diagnosis.exit_status, diagnosis.is_broken) == (8, False)
    assert describe_facts(diagnosis) == "seen: 1 of 1 node Ready, names resolve in pods on 1 of 1 host"
