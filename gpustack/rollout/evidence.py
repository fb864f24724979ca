"""The folder of one run below the user's state directory: snapshot, events, log, overlay. The last 20 are kept.

It is evidence for people. Nothing is ever read back from it to decide anything.
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
from gpustack.errors import RolloutError, describe_os_error
from gpustack.events import Event, Reporter
from gpustack.files.json_text import dump_json
from gpustack.files.write import open_log

KEPT_RUNS = 20
RUN = re.compile(r"[0-9]{8}T[0-9]{6}-[a-z]+-[0-9]+(\.[0-9]+)?")
"""The name of a run's folder matches this. Folders with other names are not gpustack's to remove."""
# Bytes. Of a run on 30 hosts the answers are the largest part, 5 MiB.
NEEDED_BYTES = 16 * 2**20


def locate_runs() -> Path:
    return user_state_path("gpustack") / "runs"


def require_space(folder: Path) -> None:
    """Raise RolloutError unless the files of a run fit there."""
    free = os.statvfs(folder)
    if (free_bytes := free.f_bavail * free.f_frsize) < NEEDED_BYTES:
        raise build_space_error(
            folder, f"{free_bytes / 2**20:.1f} MiB are free there, and a run may need {NEEDED_BYTES / 2**20:.0f}."
        )


def build_space_error(folder: Path, reason: str) -> RolloutError:
    return RolloutError(
        "controller-no-space",
        f"{folder} on this machine takes no files; no host was changed.",
        reason,
        Command("df", "-h", str(folder)),
    )


def open_folder(verb: str) -> Path:
    """Create a folder that only its owner can read, and remove older ones beyond the last 20. Raise RolloutError where
    it cannot be created, or would be full soon."""
    base = locate_runs()
    try:
        base.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder = make_folder(base / f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{verb}-{os.getpid()}")
    except OSError as error:
        raise build_space_error(base, describe_os_error(error)) from error
    # A clock that was set back gives this one the lowest name of all.
    other_folders = sorted(
        path for path in base.iterdir() if RUN.fullmatch(path.name) and path.is_dir() and path != folder
    )
    for old in other_folders[: max(len(other_folders) + 1 - KEPT_RUNS, 0)]:
        shutil.rmtree(old, ignore_errors=True)
    require_space(folder)
    return folder


def make_folder(folder: Path) -> Path:
    """Make a folder, with a number behind its name where that is taken: a command may begin several runs within a
    second."""
    number, numbered_folder = 1, folder
    while True:
        try:
            numbered_folder.mkdir(mode=0o700)
        except FileExistsError:
            number += 1
            numbered_folder = folder.with_name(f"{folder.name}.{number}")
        else:
            return numbered_folder


def build_recorder(folder: Path, onward: Reporter, secrets: Sequence[str] = ()) -> Reporter:
    """Build a reporter that redacts every event, writes it to events.jsonl and passes it on. Threads may call it.

    A disk that runs full ends the record and not the run: hosts are not left half-way for the sake of a log.
    """
    log = open_log(folder / "events.jsonl")
    guard = threading.Lock()
    full = threading.Event()

    def record(event: Event) -> None:
        event = replace(event, message=redact(event.message, secrets))
        entry = {"at": datetime.now(UTC).isoformat(timespec="milliseconds")} | asdict(event)
        try:
            with guard:
                os.write(log, f"{dump_json(entry)}\n".encode())
        except OSError as error:
            if not full.is_set():
                full.set()
                onward(build_loss_event(folder, error))
        onward(event)

    return record


def build_loss_event(folder: Path, error: OSError) -> Event:
    return Event("note", "evidence", f"not kept: {describe_os_error(error)} ({folder}); the installation goes on")
