"""The folder of one run below the user's state directory: snapshot, events, log, overlay. The last 20 are kept.

It is evidence for people; nothing is ever read back from it to decide anything.
"""

import os
import re
import shutil
import threading
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path

from platformdirs import user_state_path

from gpustack.ask.redact.redact import redact
from gpustack.command import Command
from gpustack.errors import RolloutError
from gpustack.events import Event, Reporter
from gpustack.files.json_text import dump_json
from gpustack.files.write import open_log

KEPT = 20
RUN = re.compile(r"[0-9]{8}T[0-9]{6}-[a-z]+-[0-9]+")
"""The name of a run's folder; others are not ours to remove."""
# Bytes. Of a run on 30 hosts the answers are the largest part, 5 MiB.
NEEDED = 16 * 2**20


def runs() -> Path:
    return user_state_path("gpustack") / "runs"


def require_space(folder: Path) -> None:
    """Raises RolloutError unless a run fits there."""
    free = os.statvfs(folder)
    if (left := free.f_bavail * free.f_frsize) < NEEDED:
        raise no_space(folder, f"{left / 2**20:.1f} MiB are free there, and a run may need {NEEDED / 2**20:.0f}.")


def no_space(folder: Path, why: str) -> RolloutError:
    return RolloutError(
        "controller-no-space",
        f"{folder} on this machine takes no files; no host was changed.",
        why,
        Command("df", "-h", str(folder)),
    )


def open_folder(verb: str) -> Path:
    """A new folder, readable by its owner only; older ones beyond the last 20 are removed. Raises RolloutError when it
    cannot be made, or would be full soon."""
    base = runs()
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{verb}-{os.getpid()}"
    folder = base / name
    try:
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise no_space(base, str(error)) from error
    # A clock that was set back gives this one the lowest name of all.
    others = sorted(path for path in base.iterdir() if RUN.fullmatch(path.name) and path.is_dir() and path != folder)
    for old in others[: max(len(others) + 1 - KEPT, 0)]:
        shutil.rmtree(old, ignore_errors=True)
    require_space(folder)
    return folder


def recorder(folder: Path, onward: Reporter, secrets: Sequence[str] = ()) -> Reporter:
    """A reporter that redacts every event, writes it to events.jsonl and passes it on. Safe to call from threads.

    A disk that runs full ends the record and not the run: hosts are not left half-way for the sake of a log."""
    log = open_log(folder / "events.jsonl")
    guard = threading.Lock()
    full = threading.Event()

    def record(event: Event) -> None:
        event = replace(event, what=redact(event.what, secrets))
        entry = {"at": datetime.now(UTC).isoformat(timespec="milliseconds")} | asdict(event)
        try:
            with guard:
                os.write(log, f"{dump_json(entry)}\n".encode())
        except OSError as error:
            if not full.is_set():
                full.set()
                onward(not_kept(folder, error))
        onward(event)

    return record


def not_kept(folder: Path, error: OSError) -> Event:
    return Event("note", "evidence", f"not kept: {error.strerror or error} ({folder}); the installation goes on")
