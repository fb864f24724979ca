"""The program beside Ansible that ends a play when its run ends or no longer holds its locks.

Through a pipe gpustack says until when no other run is let in, in seconds of the clock that also runs while this
machine sleeps. The end of the pipe is the end of gpustack. A gpustack that is stopped says nothing: then that time
passes, and Ansible and all that it started is killed before the hosts let another run in.
"""

import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

LAPSE_FILE, END_LINE = "lapsed", "done"
# Seconds: between two looks at the clock, and until all is killed.
CLOCK_PAUSE, KILL_LIMIT = 1.0, 5.0


def build_mark(folder: Path) -> str:
    """Build the text that is in the environment of each process of a bound program, and of no other process."""
    return f"PATH={folder / 'bin'}:"


def find_processes(folder: Path) -> list[int]:
    """Find the ids of all processes that a program bound in this folder started and that still run, without this
    one."""
    mark_bytes, processes = build_mark(folder).encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark_bytes in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                processes.append(int(entry.name))
        except OSError:
            continue  # another user's, or it has ended
    return processes


def kill_all(folder: Path) -> None:
    """Kill all processes of the program. The runner's own way to cancel reaches the process group only."""
    deadline, empty = time.monotonic() + KILL_LIMIT, 0
    # Between fork and exec a process shows no environment: twice none is none.
    while empty < 2 and time.monotonic() < deadline:
        pids = find_processes(folder)
        empty = 0 if pids else empty + 1
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def watch_pipe(pipe: int, folder: Path) -> None:
    """Wait for the end of the run or of its time, and kill; nothing is killed once the run says that it is done."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    expiry, buffer = 0.0, b""
    while True:
        remaining = max(0.0, expiry - time.clock_gettime(time.CLOCK_BOOTTIME))
        if poll.poll(min(CLOCK_PAUSE, remaining) * 1000):
            if not (chunk := os.read(pipe, 65536)):
                break
            *lines, buffer = (buffer + chunk).split(b"\n")
            if END_LINE.encode() in lines:
                return
            expiry = float(lines[-1]) if lines else expiry
        if time.clock_gettime(time.CLOCK_BOOTTIME) > expiry:
            (folder / LAPSE_FILE).touch()
            break
    kill_all(folder)


if __name__ == "__main__":
    # Whoever stops the group of Ansible does not stop this.
    os.setsid()
    watch_pipe(sys.stdin.fileno(), Path(sys.argv[1]))
