"""The private folder of a run, in memory-backed storage: removed at exit, swept at the next start."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gpustack.command import Prose
from gpustack.errors import RolloutError
from gpustack.rollout.evidence import require_space

MEMORY = (Path("/dev/shm"), Path("/run"))  # noqa: S108 - memory-backed by design
PREFIX = "gpustack-run-"


def list_candidates() -> list[Path]:
    xdg = os.environ.get("XDG_RUNTIME_DIR")
    folders = (*([Path(xdg)] if xdg else []), *MEMORY)
    return [folder for folder in folders if folder.is_dir() and os.access(folder, os.W_OK)]


def find_memory() -> Path:
    """Find memory-backed storage that can be written. Raise RolloutError where there is none."""
    for folder in list_candidates():
        return folder
    raise RolloutError(
        "private-directory",
        "No memory-backed directory can be written on this machine.",
        ", ".join(map(str, MEMORY)),
        Prose("mount | grep tmpfs"),
    )


def remove_stale_folders() -> None:
    """Remove what a killed run left: folders without a lock, which ends with its process."""
    for folder in (path for base in list_candidates() for path in base.glob(f"{PREFIX}*")):
        if (lock := lock_folder(folder)) is not None:
            shutil.rmtree(folder, ignore_errors=True)
            os.close(lock)


def lock_folder(folder: Path) -> int | None:
    """Lock a folder. Return a descriptor that keeps it locked until it is closed; None when the folder is gone, is
    none, is another user's or is in use."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None
    try:
        if os.fstat(lock).st_uid == os.getuid():
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
    except BlockingIOError:
        pass
    os.close(lock)
    return None


@contextmanager
def open_private_folder() -> Iterator[Path]:
    """Create and lock the private folder. Raise RolloutError where no memory is left for it."""
    base = find_memory()
    lock, folder = None, base
    while lock is None or not folder.exists():  # another run may sweep a folder that is not locked yet
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
        lock = lock_folder(folder)
    try:
        require_space(folder)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)
