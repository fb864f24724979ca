"""Ties Ansible to the process that started it: when gpustack is gone, also by kill -9, Ansible ends with it.

The lock ends with gpustack's own connection. Without this, an Ansible that outlived it would go on changing hosts
while the next operator is let in.

Ansible's workers lead sessions of their own (ansible-core 2.19, executor/process/worker.py), so its process group is
not all of it; ssh's masters leave it too. What they all inherit is PATH, and ours begins with a folder of this play.
"""

import os
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpustack.files.write import write_file

# The pipe has one writer, gpustack: the watcher reads the end of it the moment that process is gone. To open it for
# reading alone would wait for a writer, for ever where gpustack is gone already: so it is opened both ways first.
# `read` opens /proc/self in the shell itself, so it names the watcher and not its parent.
SCRIPT = """#!/bin/sh
exec 3<>{pipe} 4<{pipe} 3>&-
(
  read -r watcher _ </proc/self/stat
  ! read -r word <&4 || [ "$word" != {done} ] || exit 0
  for again in 1 2 3 4 5; do
    left=$(grep -alsF {mark} /proc/[0-9]*/environ | sed 's#/proc/##; s#/environ##' | grep -vx "$watcher")
    kill -KILL $left
  done
) </dev/null >/dev/null 2>&1 &
exec {program} "$@" 4<&-
"""
DONE = "done"
AT_ONCE = 5.0


def mark(folder: Path) -> str:
    """What stands in the environment of all that a tied program started, and of nothing else."""
    return f"PATH={folder / 'bin'}:"


@contextmanager
def tie_program(program: str, folder: Path) -> Iterator[str]:
    """A PATH whose first entry has a `program` that ends with this process; once what is inside the `with` is through,
    what still runs of it is left alone. The real one stands beside our own interpreter or in PATH. Raises
    FileNotFoundError."""
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
    real = shutil.which(program, path=path)
    if real is None:
        raise FileNotFoundError(program)
    own, pipe = folder / "bin", folder / "alive"
    own.mkdir(mode=0o700)
    os.mkfifo(pipe, 0o600)
    words = {"pipe": str(pipe), "done": DONE, "mark": mark(folder), "program": real}
    shim = own / program
    write_file(shim, SCRIPT.format(**{name: shlex.quote(word) for name, word in words.items()}))
    shim.chmod(0o700)
    held = os.open(pipe, os.O_RDWR)  # for reading too: without a reader yet, opening it would wait
    try:
        yield f"{own}:{path}"
        os.write(held, f"{DONE}\n".encode())
    finally:
        os.close(held)


def find_processes(folder: Path) -> list[int]:
    """Ids of all that a program tied in this folder started, and that still runs."""
    wanted = mark(folder).encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue  # another user's, or it has ended
    return found


def kill_all(folder: Path) -> None:
    """Kills all of them. The runner's own way to cancel reaches the process group only."""
    until, empty = time.monotonic() + AT_ONCE, 0
    # Between fork and exec a process shows no environment: twice none is none.
    while empty < 2 and time.monotonic() < until:
        left = find_processes(folder)
        empty = 0 if left else empty + 1
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        time.sleep(0.02)
