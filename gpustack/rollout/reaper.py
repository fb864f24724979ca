"""The tie of Ansible to the run that started it.

When gpustack is gone, also by kill -9, Ansible ends with it. When gpustack is stopped (Ctrl-Z, a frozen cgroup, a
debugger), Ansible ends before the hosts let another run in.

Ansible's workers lead sessions of their own (ansible-core 2.19, executor/process/worker.py), so its process group does
not include them; ssh's masters leave it too. All of them inherit PATH, which begins with a folder of this play.
"""

import os
import shlex
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path

from gpustack.files.write import write_file
from gpustack.rollout import watcher
from gpustack.rollout.watcher import END_LINE, LAPSE_FILE, kill_all

# The pipe has one writer, gpustack: the watcher reads the end of it the moment that process is gone. To open it for
# reading alone would wait for a writer, for ever where gpustack is gone already: so it is opened both ways first.
SCRIPT = """#!/bin/sh
exec 3<>{pipe} 4<{pipe} 3>&-
{python} -I -S {watcher} {folder} <&4 >/dev/null 2>&1 &
echo $! >{number}
exec {program} "$@" 4<&-
"""
# Seconds between two lines to the watcher, and the file with its process id.
TELL_INTERVAL, PID_FILE = 2.0, "watcher"


def read_endless_expiry() -> float:
    return inf


@contextmanager
def bind_program(program: str, folder: Path, read_expiry: Callable[[], float] = read_endless_expiry) -> Iterator[str]:
    """Yield a PATH whose first entry has a `program` that ends with this process, and at the time that `read_expiry`
    returns, which is read again and again. The real program stands beside the Python interpreter or in PATH. After the
    `with` block, what still runs of it is left alone. Raise FileNotFoundError."""
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
    real = shutil.which(program, path=path)
    if real is None:
        raise FileNotFoundError(program)
    bin_folder = folder / "bin"
    bin_folder.mkdir(mode=0o700)
    pipe = folder / "alive"
    os.mkfifo(pipe, 0o600)
    words = {"pipe": str(pipe), "python": sys.executable, "watcher": watcher.__file__, "folder": str(folder)}
    words |= {"program": real, "number": str(folder / PID_FILE)}
    shim = bin_folder / program
    write_file(shim, SCRIPT.format(**{name: shlex.quote(word) for name, word in words.items()}))
    shim.chmod(0o700)
    # For reading too: without a reader yet, opening it would fail. A watcher that is gone must not block the writer.
    pipe_writer = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    stop_event = threading.Event()
    write_line(pipe_writer, read_expiry())
    teller = threading.Thread(target=tell_expiry, args=(pipe_writer, read_expiry, stop_event, folder), daemon=True)
    teller.start()
    try:
        yield f"{bin_folder}:{path}"
        stop_event.set()
        teller.join()
        write_line(pipe_writer, END_LINE)
    finally:
        stop_event.set()
        teller.join()
        os.close(pipe_writer)


def tell_expiry(pipe: int, read_expiry: Callable[[], float], stop_event: threading.Event, folder: Path) -> None:
    """Tell the watcher the time until it is done. End a play whose watcher is gone or stopped."""
    while not stop_event.wait(TELL_INTERVAL):
        write_line(pipe, read_expiry())
        if not is_watched(folder):
            (folder / LAPSE_FILE).touch()
            kill_all(folder)


def write_line(pipe: int, word: object) -> None:
    with suppress(BlockingIOError):
        os.write(pipe, f"{word}\n".encode())


def is_watched(folder: Path) -> bool:
    """Tell whether the watcher of this folder runs, or the program has not started yet."""
    try:
        state = (
            Path(f"/proc/{int((folder / PID_FILE).read_text(encoding='utf-8'))}/stat")
            .read_text(encoding="utf-8")
            .rpartition(")")[2]
            .split()[0]
        )
    except (FileNotFoundError, ProcessLookupError):
        return not (folder / PID_FILE).exists()
    except ValueError:
        return True  # the number is being written
    return state not in "TtZX"


def is_lapsed(folder: Path) -> bool:
    """Tell whether a program that was bound in this folder was killed because its time was over, or nobody watched
    it."""
    return (folder / LAPSE_FILE).exists()
