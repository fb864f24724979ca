"""Ties Ansible to the run that started it: when gpustack is gone, also by kill -9, Ansible ends with it. When gpustack
is stopped (Ctrl-Z, a frozen cgroup, a debugger), Ansible ends before the hosts let another run in.

Ansible's workers lead sessions of their own (ansible-core 2.19, executor/process/worker.py), so its process group is
not all of it; ssh's masters leave it too. What they all inherit is PATH, and ours begins with a folder of this play.
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
from gpustack.rollout.watcher import DONE, LAPSED, kill_all

# The pipe has one writer, gpustack: the watcher reads the end of it the moment that process is gone. To open it for
# reading alone would wait for a writer, for ever where gpustack is gone already: so it is opened both ways first.
SCRIPT = """#!/bin/sh
exec 3<>{pipe} 4<{pipe} 3>&-
{python} -I -S {watcher} {folder} <&4 >/dev/null 2>&1 &
echo $! >{number}
exec {program} "$@" 4<&-
"""
# Seconds between two lines to the watcher, and the file with its process id.
TELL, NUMBER = 2.0, "watcher"


def hold_for_ever() -> float:
    return inf


@contextmanager
def tie_program(program: str, folder: Path, until: Callable[[], float] = hold_for_ever) -> Iterator[str]:
    """A PATH whose first entry has a `program` that ends with this process, and at the time that `until` says, which is
    asked again and again; once what is inside the `with` is through, what still runs of it is left alone. The real one
    stands beside our own interpreter or in PATH. Raises FileNotFoundError."""
    path = f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}"
    real = shutil.which(program, path=path)
    if real is None:
        raise FileNotFoundError(program)
    own = folder / "bin"
    own.mkdir(mode=0o700)
    pipe = folder / "alive"
    os.mkfifo(pipe, 0o600)
    words = {"pipe": str(pipe), "python": sys.executable, "watcher": watcher.__file__, "folder": str(folder)}
    words |= {"program": real, "number": str(folder / NUMBER)}
    shim = own / program
    write_file(shim, SCRIPT.format(**{name: shlex.quote(word) for name, word in words.items()}))
    shim.chmod(0o700)
    # For reading too: without a reader yet, opening it would fail. A watcher that is gone must not block the writer.
    held = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
    done = threading.Event()
    tell(held, until())
    teller = threading.Thread(target=tell_until, args=(held, until, done, folder), daemon=True)
    teller.start()
    try:
        yield f"{own}:{path}"
        done.set()
        teller.join()
        tell(held, DONE)
    finally:
        done.set()
        teller.join()
        os.close(held)


def tell_until(pipe: int, until: Callable[[], float], done: threading.Event, folder: Path) -> None:
    """Tell the watcher the time until it is done; a play whose watcher is gone or stopped is ended here."""
    while not done.wait(TELL):
        tell(pipe, until())
        if not is_watched(folder):
            (folder / LAPSED).touch()
            kill_all(folder)


def tell(pipe: int, word: object) -> None:
    with suppress(BlockingIOError):
        os.write(pipe, f"{word}\n".encode())


def is_watched(folder: Path) -> bool:
    """Does the watcher of this folder run, or has the program not started yet?"""
    try:
        state = Path(f"/proc/{int((folder / NUMBER).read_text())}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return not (folder / NUMBER).exists()
    except ValueError:
        return True  # the number is being written
    return state not in "TtZX"


def is_lapsed(folder: Path) -> bool:
    """Was a program that was tied in this folder killed because its time was over, or because nobody watched it?"""
    return (folder / LAPSED).exists()
