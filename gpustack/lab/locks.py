"""Locks of labs. They end with their holder, and with the programs it started: one killed half-way leaves no work that
goes on under the feet of the next."""

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
_held: set[int] = set()


def held() -> tuple[int, ...]:
    """File descriptors to hand to a program that works under the locks of this process."""
    return tuple(_held)


@contextmanager
def locked(what: str, *, wait: bool = True) -> Iterator[bool]:
    """Hold the lock of a lab (its name) or of the `machine`. Without `wait` gives False when somebody else holds it.

    Raises LabError after 15 minutes of waiting.
    """
    MACHINE.mkdir(mode=0o755, parents=True, exist_ok=True)
    path = MACHINE / f"{what}.lock"
    deadline = time.monotonic() + (LIMIT if wait else 0.0)
    while (file := _taken(path)) is None:
        if not wait:
            yield False
            return
        if time.monotonic() > deadline:
            why = f"Waited {LIMIT / 60:.0f} minutes."
            raise LabError(
                "lab-busy", f"Another gpustack process works on {what}.", why, Command("fuser", "-v", str(path))
            )
        time.sleep(0.1)
    _held.add(file)
    try:
        yield True
    finally:
        _held.discard(file)
        path.unlink(missing_ok=True)
        os.close(file)


def tidy() -> None:
    """Remove what killed holders left: files of their locks, and files that they had not finished.

    Hold the machine's lock, with no lab up: nobody else writes then.
    """
    for path in MACHINE.glob("*.new"):
        path.unlink()
    for path in MACHINE.glob("*.lock"):
        with locked(path.stem, wait=False):
            pass


def _taken(path: Path) -> int | None:
    """The locked file, or None while another process has it (also when that one has just removed the file)."""
    file = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino == os.fstat(file).st_ino:
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(file)
    return None
