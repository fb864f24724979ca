"""A mirror that runs with the lab, on the lab's own address, and ends with it."""

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.events import Event, Reporter
from gpustack.lab import detached
from gpustack.lab.state import Record, Source

PART = "mirror"
START_LIMIT = 120.0


@dataclass(frozen=True)
class Mirror:
    """`command` gets the address to listen on and gives the argv; `fingerprint` is of the key the mirror signs with."""

    command: Callable[[str], list[str]]
    port: int
    fingerprint: str

    def source(self, record: Record) -> Source:
        return Source(f"http://{record.gateway}:{self.port}", self.fingerprint)


def start(record: Record, mirror: Mirror) -> None:
    if not detached.running(record, PART):
        detached.start(record, PART, mirror.command(record.gateway), detached.environment_of_caller())


def wait(record: Record, mirror: Mirror, report: Reporter) -> None:
    wait_for(record, PART, mirror.port, report)


def wait_for(record: Record, part: str, port: int, report: Reporter) -> None:
    """Until it takes connections. Raises LabError with its last words when it ends or does not within two minutes."""
    begun = time.monotonic()
    while True:
        try:
            socket.create_connection((record.gateway, port), timeout=1.0).close()
        except OSError as refused:
            waited = time.monotonic() - begun
            if waited > START_LIMIT or (waited > 2 and not detached.running(record, part)):
                why = detached.last_words(record, part)
                hint = Command("cat", str(record.console(part)))
                raise LabError("lab-mirror-dead", f"The lab's {part} did not start.", why, hint) from refused
            time.sleep(0.1)
            continue
        report(Event("done", part, f"serves on {record.gateway}:{port}", time.monotonic() - begun))
        return
