"""A restore that is cut off is finished later; real disks are restored in tests/lab."""

from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.errors import LabError
from gpustack_lab.lab import hosts, locks, pool, snapshots, state
from gpustack_lab.lab.state import Record
from tests.unit.lab.records import record


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Record:
    """A lab whose roots are files: those of the hosts say old, those of snapshot `clean` say saved."""
    monkeypatch.setattr(locks, "MACHINE", tmp_path / "machine")
    (tmp_path / "machine").mkdir()
    monkeypatch.setattr(hosts, "kill", lambda lab, names: None)
    monkeypatch.setattr(hosts, "boot", lambda lab, names: None)
    monkeypatch.setattr(hosts, "wait_for_ssh", lambda lab, names, report: None)
    monkeypatch.setattr(pool, "delete", Path.unlink)
    monkeypatch.setattr(pool, "copy", lambda source, target: target.write_text(source.read_text()))
    made_record = record(tmp_path / "state")
    for directory, text in (
        (made_record.roots / "hosts", "old"),
        (snapshots.locate_snapshot(made_record, "clean"), "saved"),
    ):
        directory.mkdir(parents=True)
        for host in made_record.hosts:
            (directory / host.name).write_text(text)
    state.write(made_record)
    return made_record


def read_roots(lab_record: Record) -> list[str]:
    return [
        path.read_text() if path.exists() else ""
        for path in (lab_record.locate_root(host) for host in lab_record.hosts)
    ]


def test_a_snapshot_is_restored_and_forgotten(two: Record) -> None:
    snapshots.restore(two, "clean", lambda event: None)
    assert read_roots(two) == ["saved", "saved"]
    assert state.read("two") == two


def test_a_restore_that_was_cut_off_is_finished_and_never_mixed(two: Record, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(source: Path, target: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as short:
        short.setattr(pool, "copy", cut)
        with pytest.raises(KeyboardInterrupt):
            snapshots.restore(two, "clean", lambda event: None)
    assert read_roots(two) == ["", "old"]
    record_there = state.read_existing("two")
    assert record_there == replace(two, restoring="clean")
    assert snapshots.replace_roots(record_there) == two
    assert read_roots(two) == ["saved", "saved"]
    assert state.read("two") == two


def test_a_snapshot_that_was_cut_off_is_none(two: Record) -> None:
    """`save` deletes all roots of an older one before it copies the first."""
    (snapshots.locate_snapshot(two, "half") / "host1").parent.mkdir()
    (snapshots.locate_snapshot(two, "half") / "host1").write_text("half")
    with pytest.raises(LabError) as excinfo:
        snapshots.restore(two, "half", lambda event: None)
    assert excinfo.value.reference == "lab-unknown-snapshot"
    assert excinfo.value.reason == "There are: clean."
    assert read_roots(two) == ["old", "old"]
    assert state.read("two") == two
