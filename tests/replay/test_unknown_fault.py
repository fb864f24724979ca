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
from gpustack.ask.recording import read
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor import catalogue, diagnose
from gpustack.doctor.check import Check
from gpustack.doctor.checks import CHECKS
from gpustack.doctor.graph import Graph, joined
from tests.snapshots.fixture import whole

FOLDER = Path(__file__).parents[1] / "snapshots"
UNKNOWN = (
    "cni-plugin-binaries-missing", "containerd-cni-status-stale", "control-plane-settings-refused--flag",
    "etcd-nospace", "flannel-cidr-mismatch--another", "flannel-wrong-interface", "forward-policy-drop",
    "gpu-driver-not-loaded", "gpu-fell-off-bus", "gpu-host-driver-conflict--helm",
)  # fmt: skip


def docker(answer: Answer) -> Answer:
    err = answer.err.replace("dpkg-query: no packages found matching docker.io\n", "")
    return replace(answer, out=f"{answer.out}docker.io install installed 26.1.5+dfsg1-9\n", err=err)


def swap(answer: Answer) -> Answer:
    return replace(answer, out=answer.out.replace("Priority\n", "Priority\n/dev/sda3\tpartition\t4194300\t0\t-2\n", 1))


def io_error(answer: Answer) -> Answer:
    line = "| I/O error, dev sda, sector 81920 op 0x1:(WRITE) flags 0x800 phys_seg 1 prio class 2"
    return replace(answer, out=f"{answer.out.rstrip()}\n{line}\n")


INNOCENT = {
    "host-docker-preinstalled": ("packages.installed", docker),
    "host-swap-on": ("kernel.swap", swap),
    "host-root-readonly-or-io-errors": ("storage.disk", io_error),
}


def without(fault: str) -> tuple[Graph, list[Check]]:
    def stays(id: str) -> bool:
        return fault not in id.removesuffix(" guard").split(" -> ")

    files = []
    for layer in catalogue.layers():
        groups = [replace(one, faults=tuple(id for id in one.faults if id != fault)) for one in layer.groups]
        files.append(
            replace(
                layer,
                faults=tuple(one for one in layer.faults if one.id != fault),
                edges=tuple(one for one in layer.edges if fault not in (one.cause, one.effect)),
                groups=tuple(one for one in groups if len(one.faults) > 1),
            )
        )
    return joined(files), [check for check in CHECKS if stays(check.id)]


def said(snapshot: Snapshot) -> tuple[set[tuple[str, str]], Collection[str]]:
    """States that are unexplained, and where; roots."""
    found = diagnose.diagnose(snapshot).verdict
    return {one.place for open_one in found.unexplained for one in open_one.judged}, {one.id for one in found.roots}


@pytest.mark.parametrize("name", UNKNOWN)
def test_nothing_innocent_swallows_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known, checks = without(name.partition("--")[0])
    monkeypatch.setattr(diagnose, "graph", lambda: known)
    monkeypatch.setattr(diagnose, "CHECKS", checks)
    (tmp_path / "recording").write_text(whole(FOLDER / f"{name}.jsonl"))
    alone, roots = said(read(tmp_path / "recording"))
    assert alone
    assert not set(INNOCENT) & set(roots)
    changed = read(tmp_path / "recording")
    answers = dict(changed.answers)
    for probe, change in INNOCENT.values():
        answers[probe, "host2"] = change(answers[probe, "host2"])
    both, roots = said(replace(changed, answers=answers))
    assert set(INNOCENT) <= set(roots)
    assert alone <= both
