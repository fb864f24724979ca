"""Locks of labs. They end with their holder, and with the programs it started.

A command that is killed half-way leaves no work that goes on during the next command.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpustack.command import Command
from gpustack.errors import LabError

MACHINE = Path("/run/gpustack-lab")
LIMIT = 900.0
_held_descriptors: set[int] = set()


def list_descriptors() -> tuple[int, ...]:
    """List the file descriptors for a program that works under the locks of this process."""
    return tuple(_held_descriptors)


@contextmanager
def hold_lock(lock_name: str, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a lab (its name) or of the `machine`. Without `wait` yield False when another process holds it.

    Raise LabError after 15 minutes of waiting.
    """
    MACHINE.mkdir(mode=0o755, parents=True, exist_ok=True)
    path = MACHINE / f"{lock_name}.lock"
    deadline = time.monotonic() + (LIMIT if wait else 0.0)
    while (file := _try_lock(path)) is None:
        if not wait:
            yield False
            return
        if time.monotonic() > deadline:
            reason = f"Waited {LIMIT / 60:.0f} minutes."
            raise LabError(
                "lab-busy", f"Another gpustack process works on {lock_name}.", reason, Command("fuser", "-v", str(path))
            )
        time.sleep(0.1)
    _held_descriptors.add(file)
    try:
        yield True
    finally:
        _held_descriptors.discard(file)
        path.unlink(missing_ok=True)
        os.close(file)


def tidy() -> None:
    """Remove the files of killed holders: those of their locks, and unfinished ones.

    The caller holds the machine's lock, with no lab up: no other process writes then.
    """
    for path in MACHINE.glob("*.new"):
        path.unlink()
    for path in MACHINE.glob("*.lock"):
        with hold_lock(path.stem, wait=False):
            pass


def _try_lock(path: Path) -> int | None:
    """Return the locked file, or None while another process has it (also when that one has just removed the file)."""
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(file).st_ino:
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(file)
    return None
