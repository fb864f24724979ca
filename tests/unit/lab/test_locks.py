import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gpustack.errors import LabError
from gpustack_lab.lab import locks


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setattr(locks, "MACHINE", tmp_path)
    return tmp_path


def test_a_lock_excludes_and_leaves_nothing(machine: Path) -> None:
    with locks.hold_lock("two") as mine:
        assert mine
        with locks.hold_lock("two", wait=False) as second:
            assert not second
    assert list(machine.iterdir()) == []
    with locks.hold_lock("two", wait=False) as second_lock:
        assert second_lock


def test_waiting_for_a_lock_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "LIMIT", 0.2)
    with locks.hold_lock("two"), pytest.raises(LabError) as excinfo, locks.hold_lock("two"):
        pass
    assert excinfo.value.reference == "lab-busy"


def test_a_program_that_was_started_keeps_the_lock_of_its_killed_starter(machine: Path) -> None:
    """The program finishes before the next one looks."""
    starter = (
        "import os; from pathlib import Path; from gpustack_lab.lab import commands, locks\n"
        f"locks.MACHINE = Path({str(machine)!r})\n"
        "with locks.hold_lock('two'):\n"
        "    commands.run(['sh', '-c', 'kill -9 $PPID; sleep 1'])\n"
    )
    assert subprocess.run([sys.executable, "-c", starter], check=False, timeout=30).returncode == -9
    with locks.hold_lock("two", wait=False) as mine:
        assert not mine
    with locks.hold_lock("two") as mine:
        assert mine
    assert list(machine.iterdir()) == []


def test_holders_come_one_after_the_other(machine: Path) -> None:
    inside_count, max_count = 0, 0

    def count_holders() -> None:
        nonlocal inside_count, max_count
        for _ in range(20):
            with locks.hold_lock("two"):
                inside_count += 1
                max_count = max(max_count, inside_count)
                inside_count -= 1

    threads = [threading.Thread(target=count_holders) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert max_count == 1
    assert not any(thread.is_alive() for thread in threads)


def test_what_killed_holders_left_goes_and_held_locks_stay(machine: Path) -> None:
    (machine / "two.new").write_text("{")
    (machine / "dead.lock").touch()
    with locks.hold_lock("alive"):
        locks.tidy()
        assert [path.name for path in machine.iterdir()] == ["alive.lock"]
