"""The one private folder of a run, in memory-backed storage: removed at exit, swept at the next start."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = (Path("/dev/shm"), Path("/run"))  # noqa: S108 - memory-backed by design
PREFIX = "gpustack-run-"


def memory() -> Path:
    """Raises RolloutError where no memory-backed storage can be written."""
    from gpustack.errors import RolloutError

    xdg = os.environ.get("XDG_RUNTIME_DIR")
    for folder in (*([Path(xdg)] if xdg else []), *MEMORY):
        if folder.is_dir() and os.access(folder, os.W_OK):
            return folder
    raise RolloutError(
        "private-folder",
        "No memory-backed folder can be written on this machine.",
        ", ".join(map(str, MEMORY)),
        "mount | grep tmpfs",
    )


def sweep(folder: Path) -> None:
    """Removes what a killed run left: folders of ours whose process is gone."""
    for left in folder.glob(f"{PREFIX}*"):
        pid = left.name.removeprefix(PREFIX).split("-")[0]
        if left.stat().st_uid == os.getuid() and pid.isdigit() and not Path(f"/proc/{pid}").exists():
            shutil.rmtree(left)


@contextmanager
def private_folder() -> Iterator[Path]:
    base = memory()
    sweep(base)
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir=base))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
