"""The folder of one run below the user's state directory: snapshot, events, log, overlay. The last 20 are kept.

It is evidence for people; nothing is ever read back from it to decide anything.
"""

import json
import os
import shutil
import threading
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from platformdirs import user_state_path

from gpustack.ask.redact import redact
from gpustack.events import Event, Reporter

KEPT = 20


def runs() -> Path:
    return user_state_path("gpustack") / "runs"


def open_folder(verb: str) -> Path:
    """A new folder, readable by its owner only; older ones beyond the last 20 are removed."""
    base = runs()
    base.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{verb}-{os.getpid()}"
    folder = base / name
    folder.mkdir(mode=0o700)
    for old in sorted(path for path in base.iterdir() if path.is_dir())[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder


def recorder(folder: Path, onward: Reporter) -> Reporter:
    """A reporter that writes every event, redacted, to events.jsonl and passes it on. Safe to call from threads."""
    file = (folder / "events.jsonl").open("a", buffering=1)
    guard = threading.Lock()

    def record(event: Event) -> None:
        entry = {"at": datetime.now(UTC).isoformat(timespec="milliseconds")} | asdict(event)
        entry["what"] = redact(event.what)
        with guard:
            file.write(json.dumps(entry) + "\n")
        onward(event)

    return record
