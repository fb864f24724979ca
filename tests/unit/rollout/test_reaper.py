"""A tied program ends with the process that started it, and so does all that it started."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpustack.rollout import reaper
from gpustack.rollout.watcher import find_processes, kill_all

PROGRAM = """#!/bin/sh
setsid tail -f /dev/null &
echo $!
exec tail -f /dev/null
"""
STARTER = """
import os, subprocess, sys, time
from pathlib import Path
from gpustack.rollout import reaper
from gpustack.rollout.reaper import bind_program
reaper.TELL_INTERVAL = 0.2
with bind_program("program", Path(sys.argv[1])) as path:
    child = subprocess.Popen(["program"], env={"PATH": path}, start_new_session=True)
    os.write(1, f"{child.pid}\\n".encode())  # in one piece: the program writes there, too
    sys.stdin.readline()
print("through", flush=True)
time.sleep(60)
"""


@pytest.fixture
def starter_and_pids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple["subprocess.Popen[str]", set[int]]]:
    """The starter, and the ids of the program and of its child."""
    real = tmp_path / "real"
    real.mkdir()
    (real / "program").write_text(PROGRAM)
    (real / "program").chmod(0o700)
    monkeypatch.setenv("PATH", f"{real}:{os.environ['PATH']}")
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert starter.stdin
    assert starter.stdout
    try:
        pids = {int(starter.stdout.readline()), int(starter.stdout.readline())}
        deadline = time.monotonic() + 10
        while not pids <= set(find_processes(tmp_path)):
            assert time.monotonic() < deadline
        yield starter, pids
    finally:
        starter.kill()
        starter.wait()
        starter.stdin.close()
        starter.stdout.close()
        kill_all(tmp_path)


def test_all_of_it_ends_when_its_starter_is_killed(
    starter_and_pids: tuple["subprocess.Popen[str]", set[int]], tmp_path: Path
) -> None:
    starter, _ = starter_and_pids
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    deadline = time.monotonic() + 10
    while (processes := find_processes(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes == []


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_it_does_not_go_on_without_its_watcher(
    starter_and_pids: tuple["subprocess.Popen[str]", set[int]], tmp_path: Path, number: signal.Signals
) -> None:
    """Were gpustack stopped afterwards, nobody would end the program in time."""
    assert reaper.is_watched(tmp_path)
    os.kill(int((tmp_path / reaper.PID_FILE).read_text()), number)
    deadline = time.monotonic() + 10
    while (processes := find_processes(tmp_path)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert processes == []
    assert reaper.is_lapsed(tmp_path)
    assert starter_and_pids[0].poll() is None


def test_what_it_started_lives_on_when_it_was_let_go(
    starter_and_pids: tuple["subprocess.Popen[str]", set[int]], tmp_path: Path
) -> None:
    """ssh's master connections serve the next play."""
    starter, pids = starter_and_pids
    assert starter.stdin
    assert starter.stdout
    starter.stdin.write("\n")
    starter.stdin.flush()
    assert starter.stdout.readline() == "through\n"
    starter.kill()
    starter.wait()
    time.sleep(0.5)
    assert pids <= set(find_processes(tmp_path))


def test_all_of_it_can_be_ended(starter_and_pids: tuple["subprocess.Popen[str]", set[int]], tmp_path: Path) -> None:
    kill_all(tmp_path)
    assert find_processes(tmp_path) == []


def test_what_is_not_of_this_play_is_left_alone(
    starter_and_pids: tuple["subprocess.Popen[str]", set[int]], tmp_path: Path
) -> None:
    assert os.getpid() not in find_processes(tmp_path)
    assert starter_and_pids[0].pid not in find_processes(tmp_path)
    assert find_processes(tmp_path / "other") == []


def test_it_ends_also_when_its_starter_was_gone_before_it_began(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pipe has no writer any more when the program opens it."""
    real = tmp_path / "real"
    real.mkdir()
    (real / "program").write_text(PROGRAM)
    (real / "program").chmod(0o700)
    monkeypatch.setenv("PATH", f"{real}:{os.environ['PATH']}")
    with reaper.bind_program("program", tmp_path) as path:
        pass
    program = subprocess.Popen(["program"], env={"PATH": path}, start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        program.wait(10)
        deadline = time.monotonic() + 10
        while (processes := find_processes(tmp_path)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert processes == []
    finally:
        kill_all(tmp_path)
