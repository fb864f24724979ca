"""Check what a step itself takes away: what gpustack wrote, as it left it. What others changed stays, or is copied."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gpustack.config.resources import locate_playbooks
from tests.unit.ownership.owned_root import PROGRAM, RECORD, OwnedRoot

SCRIPT = (locate_playbooks() / "files" / "recorded.sh").read_text()
SOURCE = "/etc/apt/sources.list.d/gpustack-nvidia.sources"
DECLARED_PATHS = {"file": [SOURCE]}
TEXT = "Types: deb\nURIs: https://developer.download.nvidia.com/compute/cuda/repos/debian12/x86_64\nSuites: ./\n"


@pytest.fixture
def root(tmp_path: Path) -> OwnedRoot:
    root = OwnedRoot(tmp_path)
    install(root)
    return root


def install(root: OwnedRoot) -> str:
    """Record, write and record, as a step does; return what it says first."""
    process = root.run("begin", stdin_document={"declared": DECLARED_PATHS})
    assert process.returncode == 0, process.stderr
    root.write(SOURCE, TEXT)
    root.record("finish", DECLARED_PATHS)
    return process.stdout


def ask(root: OwnedRoot, action: str = "remove") -> subprocess.CompletedProcess[str]:
    words = {"OWNERSHIP": PROGRAM, "OWNERSHIP_ROOT": str(root.path), "PATH": os.environ["PATH"]}
    return subprocess.run(
        ["sh", "-c", f"set -eu\n{SCRIPT}\nis_agreed {action} {SOURCE} || exit 9"],
        env=words, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def change_record(root: OwnedRoot, change: Callable[[dict[str, str]], None]) -> None:
    document = json.loads(root.read(RECORD) or "")
    change(document["records"][SOURCE])
    root.write(RECORD, json.dumps(document))


def test_what_a_step_wrote_and_nobody_changed_goes(root: OwnedRoot) -> None:
    assert ask(root).returncode == 0
    assert ask(root, "restore").returncode == 9


@pytest.mark.parametrize("text", ["", "\0" * 4096])
def test_a_file_that_holds_nothing_goes_as_after_a_power_cut(root: OwnedRoot, text: str) -> None:
    root.write(SOURCE, text)
    assert ask(root).returncode == 0


def test_what_an_administrator_changed_stays_and_is_named(root: OwnedRoot) -> None:
    root.write(SOURCE, f"{TEXT}Trusted yes\n")
    process = ask(root)
    assert process.returncode == 9
    assert process.stderr == f"left: {SOURCE} is not as gpustack left it\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.update(before="file 0644 0:0 " + "0" * 64),
        lambda record: record.update(after=""),
        lambda record: record.update(after="edited"),
    ],
)
def test_another_record_agrees_to_nothing(root: OwnedRoot, change: Callable[[dict[str, str]], None]) -> None:
    change_record(root, change)
    assert ask(root).returncode == 9


def test_no_record_a_torn_one_and_one_of_another_machine_agree_to_nothing(root: OwnedRoot) -> None:
    text = root.read(RECORD) or ""
    for content in (text[: len(text) // 2], text.replace(root.machine, "b" * 32), '{"version": 1}'):
        root.write(RECORD, content)
        process = ask(root)
        assert process.returncode == 9
        assert "ownership-record-unusable" in process.stderr
    (root.path / RECORD).unlink()
    assert ask(root).returncode == 9


def test_what_somebody_changed_is_copied_before_a_step_writes_it_again_and_a_reset_leaves_the_copy(
    root: OwnedRoot,
) -> None:
    root.write(SOURCE, f"{TEXT}Trusted: yes\n", 0o600)
    folder = root.path / RECORD.replace("owned.json", "before")
    words = install(root).split()
    (copy,) = folder.iterdir()
    assert words[0:3] == ["changed:", "copied", f"{SOURCE},"]
    assert words[-1] == f"/{copy.relative_to(root.path)}"
    assert (copy.read_text(), copy.stat().st_mode & 0o777) == (f"{TEXT}Trusted: yes\n", 0o600)
    assert install(root) == "", "what the step wrote is no change of somebody"
    (root.path / SOURCE[1:]).unlink()
    assert root.run("clear").returncode == 0
    assert (root.read(RECORD), list(folder.iterdir())) == (None, [copy])
