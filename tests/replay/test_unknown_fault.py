"""What the doctor says of a fault that it does not know: its symptoms stay unexplained, whatever innocent thing is true
beside it.

Each is a recording of a fault, judged by a catalogue without that fault, its guard and its edges; and host2 has what
the doctor calls a fault and what harms nothing there. What was refuted passes no blame on.
"""

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
from tests.snapshots.fixture import whole

FOLDER = Path(__file__).parents[1] / "snapshots"
UNKNOWN = (
    "cni-plugin-binaries-missing", "containerd-cni-status-stale", "control-plane-settings-refused--flag",
    "etcd-nospace", "flannel-cidr-mismatch--another", "flannel-wrong-interface", "forward-policy-drop",
    "gpu-driver-not-loaded", "gpu-fell-off-bus", "gpu-host-driver-conflict--helm",
)  # fmt: skip


def docker(answer: Answer) -> Answer:
    err = answer.stderr.replace("dpkg-query: no packages found matching docker.io\n", "")
    return replace(answer, stdout=f"{answer.stdout}docker.io install installed 26.1.5+dfsg1-9\n", stderr=err)


def swap(answer: Answer) -> Answer:
    return replace(
        answer, stdout=answer.stdout.replace("Priority\n", "Priority\n/dev/sda3\tpartition\t4194300\t0\t-2\n", 1)
    )


def io_error(answer: Answer) -> Answer:
    line = "| I/O error, dev sda, sector 81920 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2"
    return replace(answer, stdout=f"{answer.stdout.rstrip()}\n{line}\n")


INNOCENT = {
    "host-docker-preinstalled": ("packages.installed", docker),
    "host-swap-on": ("kernel.swap", swap),
    "host-root-readonly-or-io-errors": ("storage.disk", io_error),
}


def without(fault: str) -> tuple[Graph, list[Check]]:
    def stays(id: str) -> bool:
        return fault not in id.removesuffix(" guard").split(" -> ")

    files = []
    for layer in catalogue.load_layers():
        groups = [replace(group, faults=tuple(id for id in group.faults if id != fault)) for group in layer.groups]
        files.append(
            replace(
                layer,
                faults=tuple(one for one in layer.faults if one.id != fault),
                edges=tuple(edge for edge in layer.edges if fault not in (edge.cause, edge.effect)),
                groups=tuple(one for one in groups if len(one.faults) > 1),
            )
        )
    return join_layers(files), [check for check in CHECKS if stays(check.id)]


def diagnose_snapshot(snapshot: Snapshot) -> tuple[set[tuple[str, str]], Collection[str]]:
    """States that are unexplained, and where; roots."""
    verdict = diagnose.diagnose(snapshot).verdict
    return {judgement.place for open_one in verdict.unexplained_symptoms for judgement in open_one.judgements}, {
        root.id for root in verdict.roots
    }


@pytest.mark.parametrize("name", UNKNOWN)
def test_nothing_innocent_swallows_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known, checks = without(name.partition("--")[0])
    monkeypatch.setattr(diagnose, "load_graph", lambda: known)
    monkeypatch.setattr(diagnose, "CHECKS", checks)
    (tmp_path / "recording").write_text(whole(FOLDER / f"{name}.jsonl"))
    alone, roots = diagnose_snapshot(read_recording(tmp_path / "recording"))
    assert alone
    assert not set(INNOCENT) & set(roots)
    changed = read_recording(tmp_path / "recording")
    answers = dict(changed.answers)
    for probe, change in INNOCENT.values():
        answers[probe, "host2"] = change(answers[probe, "host2"])
    both, roots = diagnose_snapshot(replace(changed, answers=answers))
    assert set(INNOCENT) <= set(roots)
    assert alone <= both
