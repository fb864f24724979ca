"""Ends a play when its run ends or no longer holds its locks. Runs beside Ansible as a program of its own.

Through a pipe gpustack says until when no other run is let in, in seconds of the clock that also runs while this
machine sleeps. The end of the pipe is the end of gpustack. A gpustack that is stopped says nothing: then that time
passes, and Ansible and all that it started here is killed before the hosts let another run in.
"""

import os
import select
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

LAPSED, DONE = "lapsed", "done"
# Seconds: between two looks at the clock, and until all is killed.
LOOK, AT_ONCE = 1.0, 5.0


def mark(folder: Path) -> str:
    """Return the text that is in the environment of each process of a tied program, and of no other process."""
    return f"PATH={folder / 'bin'}:"


def find_processes(folder: Path) -> list[int]:
    """Ids of all that a program tied in this folder started, and that still runs; this process is none of them."""
    wanted, processes = mark(folder).encode(), []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (entry / "environ").read_bytes() and int(entry.name) != os.getpid():
                processes.append(int(entry.name))
        except OSError:
            continue  # another user's, or it has ended
    return processes


def kill_all(folder: Path) -> None:
    """Kills all of them. The runner's own way to cancel reaches the process group only."""
    until, empty = time.monotonic() + AT_ONCE, 0
    # Between fork and exec a process shows no environment: twice none is none.
    while empty < 2 and time.monotonic() < until:
        left = find_processes(folder)
        empty = 0 if left else empty + 1
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.02)


def watch(pipe: int, folder: Path) -> None:
    """Wait for the end of the run or of its time, and kill; nothing is killed once the run says that it is done."""
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    until, rest = 0.0, b""
    while True:
        left = max(0.0, until - time.clock_gettime(time.CLOCK_BOOTTIME))
        if poll.poll(min(LOOK, left) * 1000):
            if not (data := os.read(pipe, 65536)):
                break
            *lines, rest = (rest + data).split(b"\n")
            if DONE.encode() in lines:
                return
            until = float(lines[-1]) if lines else until
        if time.clock_gettime(time.CLOCK_BOOTTIME) > until:
            (folder / LAPSED).touch()
            break
    kill_all(folder)


if __name__ == "__main__":
    # Whoever stops the group of Ansible does not stop this.
    os.setsid()
    watch(sys.stdin.fileno(), Path(sys.argv[1]))
