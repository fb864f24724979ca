"""A run that is stopped while it plays: what it plays ends before its host lets another run in. The lock, the playbook
and the processes are real, on this machine, in times that are shorter than those of a run.
"""

import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import pytest
import yaml

from gpustack.ask.transport.execute import interact
from gpustack.config.host import Host
from gpustack.config.resources import locate_playbooks
from gpustack.errors import LockedError
from gpustack.rollout import lock
from gpustack.rollout.lease import Lease, Places, hold_locks
from gpustack.rollout.watcher import find_processes

pytestmark = [pytest.mark.long, pytest.mark.skipif(os.getuid() != 0, reason="the lock is of root's alone")]

LOCAL_HOST = Host("here", "127.0.0.1", connection="local")
TIMES = {"HEARTBEAT": 0.3, "SILENCE": 2.0, "RETAKE": 1.0, "RETRY_PAUSE": 0.2, "HOLD_LIMIT": 6.0}
OPERATOR = f"""
import sys
from pathlib import Path
from gpustack.rollout.run import refuse_suspension
from gpustack.config.host import Host
from gpustack.rollout import lock, playbook, reaper
from gpustack.rollout.lease import Places, hold_locks
folder = Path(sys.argv[1])
vars(lock).update({TIMES!r}, FOLDER=str(folder / "lock"))
reaper.TELL_INTERVAL = 0.2
playbook.locate_playbooks = lambda: folder
host = Host("here", "127.0.0.1", connection="local")
with refuse_suspension(), hold_locks(Places((host,)), "install") as held:
    ansible = playbook.Ansible(
        [str(folder / "hosts.yml")], folder / "private", lambda event: None, None, lambda: held.loss_reason, held.run,
        lambda: held.expiry,
    )
    played = playbook.play("grow", ["here"], ansible)
    print("failed:", *played.failed_hosts, flush=True)
    print("why:", *(failure.message for failure in played.failures), flush=True)
    print("lost:", held.loss_reason, flush=True)
"""
GROW = """
- hosts: all
  gather_facts: false
  pre_tasks:
    - ansible.builtin.import_tasks: same-machine.yml
  tasks:
    - ansible.builtin.raw: echo changed >>{log}; sleep 0.1
      loop: "{{{{ range(1000) | list }}}}"
"""


class Operator:
    """A run of its own process that plays on this machine; the playbook writes a line again and again."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.log = folder, folder / "log"
        (folder / "private").mkdir()
        machine = Path("/etc/machine-id")
        known_id = machine.read_text().strip() if machine.exists() else ""
        hosts = {"here": {"ansible_connection": "local", "gpustack_machine_id": known_id}}
        (folder / "hosts.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
        first = (locate_playbooks() / "tasks" / "same-machine.yml").read_text()
        (folder / "same-machine.yml").write_text(first.replace("/run/gpustack-cluster;", f"{folder}/lock;"))
        (folder / "grow.yml").write_text(GROW.format(log=self.log))
        self.process = subprocess.Popen(
            [sys.executable, "-c", OPERATOR, str(folder)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def count_lines(self) -> int:
        return len(self.log.read_text().splitlines()) if self.log.exists() else 0

    def list_players(self) -> list[int]:
        """List the ids of the processes of its plays, and of the watcher."""
        return [pid for play in (self.folder / "private").glob("play-*") for pid in find_processes(play)]

    def send(self, number: int, *numbers: int) -> None:
        for pid in numbers:
            with suppress(ProcessLookupError):  # a task of the play has ended meanwhile
                os.kill(pid, number)
        os.kill(self.process.pid, number)

    def wait_until(self, ask: Callable[[], object], limit: float = 60) -> None:
        end = time.monotonic() + limit
        while not ask():
            assert time.monotonic() < end
            time.sleep(0.05)

    def end(self) -> str:
        return self.process.communicate(timeout=60)[0]


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Operator]:
    """A run that plays, while a second operator is refused."""
    for name, seconds in TIMES.items():
        monkeypatch.setattr(lock, name, seconds)
    monkeypatch.setattr(lock, "FOLDER", str(tmp_path / "lock"))
    operator = Operator(tmp_path)
    try:
        operator.wait_until(lambda: operator.count_lines() > 2 or operator.process.poll() is not None)
        assert operator.process.poll() is None, operator.end()
        assert f"(pid {operator.process.pid})" in try_lock()
        yield operator
    finally:
        operator.process.kill()
        for pid in operator.list_players():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        operator.process.communicate(timeout=30)


@pytest.mark.parametrize(("first_order", "second_order"), [("ab", "ba"), ("ab", "b"), ("a", "ba")])
def test_real_locks_keep_operators_apart_whatever_their_order(
    first_order: str, second_order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hosts have their own folders for the lock on this machine."""

    def open_session(host: Host, script: str, beats: "queue.Queue[bytes | None]") -> Iterator[str]:
        return interact(LOCAL_HOST, script.replace(lock.FOLDER, f"{tmp_path}/{host.name}"), beats)

    def hold(names: str, doing: str) -> AbstractContextManager[Lease]:
        hosts = tuple(Host(name, name) for name in sorted(names))
        return hold_locks(Places(hosts, hosts), doing, open_session)

    with hold(first_order, "install") as first:
        with pytest.raises(LockedError) as excinfo, hold(second_order, "reset"):
            raise AssertionError
        assert excinfo.value.reason == first.holder
        notes = [(tmp_path / name / "holder").read_text() for name in first_order]
        assert notes == [f"{first.holder}\n{first.run}\n"] * len(first_order), "none of them was touched"
        assert first.loss_reason == ""
    with hold(second_order, "reset") as second:
        assert {hold_of_host.host.name for hold_of_host in second.holds} == set(second_order)
    assert list(tmp_path.glob("*/holder")) == []


def try_lock() -> str:
    """Try the lock, and return its holder in the words of another operator's error; empty where that one is let in."""
    try:
        with hold_locks(Places((LOCAL_HOST,)), "install"):
            return ""
    except LockedError as error:
        return error.reason


def assert_lost(output: str) -> None:
    assert "failed: here\n" in output
    assert "why: Ansible was ended in the middle of it: the lock on here was lost: " in output
    assert "lost: the lock on here was lost: " in output


def test_what_a_stopped_run_plays_ends_before_another_is_let_in(first: Operator) -> None:
    first.send(signal.SIGSTOP)
    first.wait_until(lambda: not try_lock())
    lines = first.count_lines()
    assert first.list_players() == []
    time.sleep(1)
    assert first.count_lines() == lines
    first.send(signal.SIGCONT)
    assert_lost(first.end())


def test_a_run_that_is_stopped_for_a_moment_goes_on(first: Operator) -> None:
    first.send(signal.SIGSTOP)
    time.sleep(0.7)
    first.send(signal.SIGCONT)
    lines = first.count_lines()
    first.wait_until(lambda: first.count_lines() > lines + 5)
    assert f"(pid {first.process.pid})" in try_lock()


def test_what_is_frozen_with_its_run_ends_as_soon_as_it_goes_on(first: Operator) -> None:
    """Freeze the whole run, as a cgroup or a laptop that sleeps does."""
    all_players = first.list_players()
    first.send(signal.SIGSTOP, *all_players)
    first.wait_until(lambda: not try_lock())
    lines = first.count_lines()
    first.send(signal.SIGCONT, *all_players)
    first.wait_until(lambda: not first.list_players(), 5)
    assert first.count_lines() <= lines + 2
    assert_lost(first.end())


def test_a_terminal_suspends_no_run(first: Operator) -> None:
    first.send(signal.SIGTSTP)
    lines = first.count_lines()
    first.wait_until(lambda: first.count_lines() > lines + 5)
    assert f"(pid {first.process.pid})" in try_lock()
    first.send(signal.SIGKILL)
    assert "Ctrl-Z is refused while hosts are changed" in first.end()


def test_a_killed_run_keeps_nobody_out(first: Operator) -> None:
    first.send(signal.SIGKILL)
    first.wait_until(lambda: not try_lock(), 3)
    first.wait_until(lambda: not first.list_players(), 10)
    assert try_lock() == "", "what the killed run left keeps nobody out"
