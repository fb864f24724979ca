"""The doctor leaves the symptoms of a fault that it does not know unexplained, whatever harmless fact is true beside
it. A recording of a fault is judged by a catalogue without that fault, its guard and its edges; and host2 has what the
doctor calls a fault and what harms nothing there. A refuted fault passes no blame on."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.ask.probe import Answer
from gpustack.ask.recording import read_recording
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor import catalogue, diagnose
from gpustack.doctor.check import Check
from gpustack.doctor.checks import CHECKS
from gpustack.doctor.graph import Graph, join_layers
from tests.snapshots.fixture import restore_recording

FOLDER = Path(__file__).parents[1] / "snapshots"
UNKNOWN = (
    "cni-plugin-binaries-missing", "containerd-cni-status-stale", "control-plane-settings-refused--flag",
    "etcd-nospace", "flannel-cidr-mismatch--another", "flannel-wrong-interface", "forward-policy-drop",
    "gpu-driver-not-loaded", "gpu-fell-off-bus", "gpu-host-driver-conflict--helm",
)  # fmt: skip


def add_docker(answer: Answer) -> Answer:
    err = answer.stderr.replace("dpkg-query: no packages found matching docker.io\n", "")
    return replace(answer, stdout=f"{answer.stdout}docker.io install installed 26.1.5+dfsg1-9\n", stderr=err)


def add_swap(answer: Answer) -> Answer:
    return replace(
        answer, stdout=answer.stdout.replace("Priority\n", "Priority\n/dev/sda3\tpartition\t4194300\t0\t-2\n", 1)
    )


def add_io_error(answer: Answer) -> Answer:
    line = "| I/O error, dev sda, sector 81920 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2"
    return replace(answer, stdout=f"{answer.stdout.rstrip()}\n{line}\n")


INNOCENT = {
    "host-docker-preinstalled": ("packages.installed", add_docker),
    "host-swap-on": ("kernel.swap", add_swap),
    "host-root-readonly-or-io-errors": ("storage.disk", add_io_error),
}


def remove_fault(fault: str) -> tuple[Graph, list[Check]]:
    def is_left(id: str) -> bool:
        return fault not in id.removesuffix(" guard").split(" -> ")

    files = []
    for layer in catalogue.load_layers():
        groups = [replace(group, faults=tuple(id for id in group.faults if id != fault)) for group in layer.groups]
        files.append(
            replace(
                layer,
                faults=tuple(fault_of_layer for fault_of_layer in layer.faults if fault_of_layer.id != fault),
                edges=tuple(edge for edge in layer.edges if fault not in (edge.cause, edge.effect)),
                groups=tuple(group for group in groups if len(group.faults) > 1),
            )
        )
    return join_layers(files), [check for check in CHECKS if is_left(check.id)]


def diagnose_snapshot(snapshot: Snapshot) -> tuple[set[tuple[str, str]], Collection[str]]:
    """Diagnose a snapshot, and return the unexplained states with their places, and the roots."""
    verdict = diagnose.diagnose(snapshot).verdict
    return {judgement.place for open_one in verdict.unexplained_symptoms for judgement in open_one.judgements}, {
        root.id for root in verdict.roots
    }


@pytest.mark.parametrize("name", UNKNOWN)
def test_no_harmless_fact_hides_an_unknown_fault(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known_graph, checks = remove_fault(name.partition("--")[0])
    monkeypatch.setattr(diagnose, "load_graph", lambda: known_graph)
    monkeypatch.setattr(diagnose, "CHECKS", checks)
    (tmp_path / "recording").write_text(restore_recording(FOLDER / f"{name}.jsonl"))
    alone, roots = diagnose_snapshot(read_recording(tmp_path / "recording"))
    assert alone
    assert not set(INNOCENT) & set(roots)
    recording = read_recording(tmp_path / "recording")
    answers = dict(recording.answers)
    for probe, change in INNOCENT.values():
        answers[probe, "host2"] = change(answers[probe, "host2"])
    both_diagnosis, roots = diagnose_snapshot(replace(recording, answers=answers))
    assert set(INNOCENT) <= set(roots)
    assert alone <= both_diagnosis
