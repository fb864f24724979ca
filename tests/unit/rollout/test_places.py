"""A run keeps its things on the controller in a private folder and a record, and a full disk ends it."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gpustack.errors import RolloutError
from gpustack.events import Event
from gpustack.rollout import evidence, private_folder

HOLDER = """
import sys, time
from pathlib import Path
from gpustack.rollout import private_folder
private_folder.list_candidates = lambda: [Path(sys.argv[1])]
with private_folder.open_private_folder() as folder:
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(private_folder, "list_candidates", lambda: [tmp_path])
    return tmp_path


def test_the_private_folder_goes_with_its_run(memory: Path) -> None:
    with private_folder.open_private_folder() as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(memory.iterdir()) == []


def test_a_killed_runs_folder_is_swept_and_a_living_ones_is_not(memory: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(memory)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout
    with holder.stdout:
        leftover = Path(holder.stdout.readline().strip())
        assert leftover.parent == memory
        (leftover / "secret").write_text("s")
        private_folder.remove_stale_folders()
        assert (leftover / "secret").exists()
        holder.kill()
        holder.wait()
    private_folder.remove_stale_folders()
    assert list(memory.iterdir()) == []


def test_a_link_of_our_name_is_left_alone(memory: Path) -> None:
    """The folders are in places where everybody may put one."""
    other_folder = memory / "other"
    other_folder.mkdir()
    (other_folder / "file").touch()
    link = memory / f"{private_folder.PREFIX}x"
    link.symlink_to(other_folder)
    assert private_folder.lock_folder(link) is None
    private_folder.remove_stale_folders()
    assert link.is_symlink()
    assert (other_folder / "file").exists()


def fill_disk(*_: object, **__: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(evidence, "locate_runs", lambda: tmp_path / "runs")
    return tmp_path / "runs"


def test_without_room_nothing_is_begun(memory: Path, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "NEEDED_BYTES", 2**80)
    with pytest.raises(RolloutError, match="takes no files") as excinfo:
        evidence.open_folder("install")
    assert excinfo.value.reference == "controller-no-space"
    with pytest.raises(RolloutError), private_folder.open_private_folder():
        pass
    assert [path.name for path in memory.iterdir()] == ["runs"]


def test_a_folder_that_cannot_be_made_is_reported(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "mkdir", fill_disk)
    with pytest.raises(RolloutError) as excinfo:
        evidence.open_folder("install")
    assert "No space left" in excinfo.value.reason


def test_the_last_twenty_are_kept_and_a_clock_that_was_set_back_does_not_take_the_new_one(state: Path) -> None:
    later = [state / f"2099010{n // 10}T00000{n % 10}-install-1" for n in range(25)]
    for folder in later:
        folder.mkdir(parents=True)
    new = evidence.open_folder("install")
    assert sorted(state.iterdir()) == [new, *later[6:]]


def test_runs_of_one_second_have_folders_of_their_own(state: Path) -> None:
    """`gpustack remediate` begins the run of a reboot at the end of the run that recorded it."""
    folders = {evidence.open_folder("remediate") for _ in range(3)}
    assert folders == set(state.iterdir())
    assert len(folders) == 3
    assert all(evidence.RUN.fullmatch(folder.name) for folder in folders)


def test_a_folder_of_another_name_is_not_removed(state: Path) -> None:
    for name in ("important", "20260101T000000-install-1.bak", ".hidden"):
        (state / name).mkdir(parents=True)
        (state / name / "file").write_text("mine")
    for number in range(25):
        (state / f"2026010{number // 10}T00000{number % 10}-install-1").mkdir()
    evidence.open_folder("install")
    remaining_names = sorted(path.name for path in state.iterdir())
    assert {"important", "20260101T000000-install-1.bak", ".hidden"} < set(remaining_names)
    assert len(remaining_names) == evidence.KEPT_RUNS + 3


def test_the_record_is_redacted_lines_of_json(state: Path) -> None:
    folder = evidence.open_folder("install")
    events: list[Event] = []
    record = evidence.build_recorder(folder, events.append, ["fig-leaf-77"])
    record(Event("task", "workers", "said fig-leaf-77, password=hunter2"))
    (entry,) = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    assert (entry["kind"], entry["subject"]) == ("task", "workers")
    assert entry["message"] == events[0].message == "said REDACTED, password=REDACTED"
    assert (folder / "events.jsonl").stat().st_mode & 0o777 == 0o600


def test_a_disk_that_runs_full_ends_the_record_and_is_reported_once(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[Event] = []
    record = evidence.build_recorder(evidence.open_folder("install"), events.append)
    monkeypatch.setattr(os, "write", fill_disk)
    record(Event("task", "workers", "one"))
    record(Event("task", "workers", "two"))
    assert [event.message for event in events if event.kind == "task"] == ["one", "two"]
    (note,) = [event for event in events if event.kind == "note"]
    assert "No space left" in note.message
