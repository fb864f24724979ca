import json
import threading
from pathlib import Path

import pytest

from gpustack.errors import LabError
from gpustack.lab import state
from gpustack.lab.state import Source
from tests.unit.lab.records import record


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(state, "MACHINE", tmp_path / "machine")
    (tmp_path / "machine").mkdir()
    return tmp_path / "machine"


@pytest.mark.parametrize("addresses", [0, 3])
@pytest.mark.parametrize("source", [None, Source("http://10.77.3.1:8480", "A" * 40)])
def test_a_record_comes_back_as_it_was(tmp_path: Path, addresses: int, source: Source | None) -> None:
    written = record(tmp_path, addresses=addresses, source=source)
    state.write(written)
    assert state.read("two") == written
    assert state.records() == [written]


def test_a_record_is_never_seen_half_written(tmp_path: Path, machine: Path) -> None:
    state.write(record(tmp_path))
    (machine / "two.new").write_text("{")  # a process that was killed while it wrote
    assert json.loads((machine / "two.json").read_text())["name"] == "two"
    assert [found.name for found in state.records()] == ["two"]


def test_forgotten(tmp_path: Path) -> None:
    state.write(record(tmp_path))
    state.forget("two")
    state.forget("two")
    assert state.read("two") is None


def test_a_lock_excludes_and_leaves_nothing(machine: Path) -> None:
    with state.locked("two") as mine:
        assert mine
        with state.locked("two", wait=False) as second:
            assert not second
    assert list(machine.iterdir()) == []
    with state.locked("two", wait=False) as again:
        assert again


def test_waiting_for_a_lock_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "LOCK_LIMIT", 0.2)
    with state.locked("two"), pytest.raises(LabError) as caught, state.locked("two"):
        pass
    assert caught.value.reference == "lab-busy"


def test_holders_come_one_after_the_other(machine: Path) -> None:
    inside, most = 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with state.locked("two"):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert most == 1
    assert not any(thread.is_alive() for thread in threads)


def test_two_checkouts_have_two_names(monkeypatch: pytest.MonkeyPatch) -> None:
    names = set()
    for place in ("/home/a/gpustack/gpustack/__init__.py", "/home/b/gpustack/gpustack/__init__.py"):
        monkeypatch.setattr("gpustack.__file__", place)
        names.add(state.default_name())
    assert len(names) == 2


def test_an_unknown_host_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="no host 'host9'") as caught:
        record(tmp_path).host("host9")
    assert caught.value.why == "It has host1, host2."


def test_files_of_dead_holders_go_and_held_ones_stay(machine: Path) -> None:
    (machine / "dead.lock").touch()
    with state.locked("alive"):
        state.drop_locks()
        assert [path.name for path in machine.iterdir()] == ["alive.lock"]
