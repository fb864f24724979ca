"""A file that somebody puts beside files of gpustack stays: each step, at each moment, through install and reset."""

import os
import subprocess
from pathlib import Path

import pytest

from gpustack.config.resources import locate_playbooks
from gpustack.probes.host.declaration import read_declaration
from tests.unit.ownership.owned_root import OwnedRoot
from tests.unit.ownership.test_agreed_removal import drop, judge

CHARTS, RECEIVERS = "/var/lib/gpustack-cluster/charts", "/etc/gpustack-cluster/standalone/receivers"
# Of each step what its first run writes, and its second.
WRITTEN_FOLDERS = {
    "flannel": ("/etc/kubernetes/gpustack-flannel", ["kube-flannel.yml", "kustomization.yaml"], ["kube-flannel.yml"]),
    "storage": ("/etc/kubernetes/gpustack-storage", ["local-path-storage.yaml"], ["kustomization.yaml"]),
    "monitoring": (CHARTS, ["kube-prometheus-stack-88.5.3.tgz"], ["kube-prometheus-stack-89.0.0.tgz"]),
    "gpu-operator": (CHARTS, ["gpu-operator-v26.7.0.tgz"], ["gpu-operator-v26.8.0.tgz"]),
    "autoscaling": (CHARTS, ["keda-2.20.2.tgz"], ["keda-2.21.0.tgz"]),
    "standalone-monitoring": (RECEIVERS, ["default-webhook"], ["critical-slack"]),
}
FOREIGN = ["notes.txt", "kustomization.yaml.mine", "keda-9.9.9.tgz", "old-receiver"]
every_step = pytest.mark.parametrize("step", WRITTEN_FOLDERS)


@pytest.fixture
def root(tmp_path: Path) -> OwnedRoot:
    return OwnedRoot(tmp_path)


def play(root: OwnedRoot, step: str, names: list[str], text: str, foreign: str = "") -> None:
    """Record, write and record as the play of a step does, while somebody adds a file."""
    folder, declared_paths = WRITTEN_FOLDERS[step][0], read_declaration()[step]
    written_paths = [f"{folder}/{name}" for name in names]
    root.record("begin", declared_paths, written=written_paths)
    for path in written_paths:
        root.write(path, text)
    if foreign:
        root.write(f"{folder}/{foreign}", "theirs")
    root.record("finish", declared_paths, written=written_paths)


@pytest.mark.long
@every_step
@pytest.mark.parametrize("moment", ["before", "during", "between", "after"])
def test_a_file_of_others_survives_installs_and_the_reset(root: OwnedRoot, step: str, moment: str) -> None:
    folder, first, second = WRITTEN_FOLDERS[step]
    if moment == "before":
        for name in FOREIGN:
            root.write(f"{folder}/{name}", "theirs")
    for name in FOREIGN if moment == "during" else [""]:
        play(root, step, first, "ours", name)
    if moment == "between":
        for name in FOREIGN:
            root.write(f"{folder}/{name}", "theirs")
    play(root, step, second, "ours, newer")
    if moment == "after":
        for name in FOREIGN:
            root.write(f"{folder}/{name}", "theirs")
    names_there = sorted(path.name for path in (root.path / folder.lstrip("/")).iterdir())
    process = drop(root, judge(root), *(f"{folder}/{name}" for name in names_there))
    assert process.returncode == 0, process.stderr
    remaining_files = {path.name: path.read_text() for path in (root.path / folder.lstrip("/")).iterdir()}
    assert remaining_files == dict.fromkeys(FOREIGN, "theirs")


@every_step
def test_a_reset_leaves_nothing_of_a_step(root: OwnedRoot, step: str) -> None:
    folder, first, second = WRITTEN_FOLDERS[step]
    play(root, step, first, "ours")
    play(root, step, second, "ours, newer")
    ownership = judge(root)
    names_there = sorted(path.name for path in (root.path / folder.lstrip("/")).iterdir())
    assert drop(root, ownership, *(f"{folder}/{name}" for name in names_there)).returncode == 0
    assert list((root.path / folder.lstrip("/")).iterdir()) == []
    assert folder in {agreement.path for agreement in ownership.agreements}, "the folder goes when it is empty"


def test_receivers_of_others_stay_and_leftovers_of_a_killed_run_go(tmp_path: Path) -> None:
    folder = tmp_path / "receivers"
    folder.mkdir()
    for name in ("theirs", ".fresh.AbC123", ".fresh.notes.txt"):
        (folder / name).write_text("x")
    script = (locate_playbooks() / "roles" / "standalone_monitoring" / "files" / "receivers.sh").read_text()
    script = "install() { :; }\nchgrp() { :; }\n" + script.replace(RECEIVERS, str(folder))
    process = subprocess.run(
        ["sh", "-c", script], input="#\ndefault-webhook aHR0cHM6Ly94\n", env={"PATH": os.environ["PATH"]},
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stdout) == (0, "changed: secret of default-webhook\n"), process.stderr
    assert sorted(path.name for path in folder.iterdir()) == [".fresh.notes.txt", "default-webhook", "theirs"]
