"""A mirror that runs with the lab, on the lab's own address, and ends with it."""

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from gpustack.command import Command
from gpustack.errors import LabError
from gpustack.events import Event, Reporter
from gpustack_lab.lab import background
from gpustack_lab.lab.state import Record, Source

PART = "mirror"
START_LIMIT = 120.0


@dataclass(frozen=True)
class Mirror:
    """Describe a mirror. `command` returns the argv for an address to listen on; `fingerprint` is of the key that the
    mirror signs with; `bundle` is the directory that it serves."""

    command: Callable[[str], list[str]]
    port: int
    fingerprint: str
    bundle: str = ""

    def build_source(self, record: Record) -> Source:
        return Source(f"http://{record.gateway}:{self.port}", self.fingerprint)


def start(record: Record, mirror: Mirror) -> None:
    if not background.is_running(record, PART):
        background.start(record, PART, mirror.command(record.gateway), background.collect_environment())


def wait(record: Record, mirror: Mirror, report: Reporter) -> None:
    wait_for(record, PART, mirror.port, report)


def wait_for(record: Record, part: str, port: int, report: Reporter) -> None:
    """Wait until a part takes connections. Raise LabError with its last lines when it ends, or does not within two
    minutes."""
    start_time = time.monotonic()
    while True:
        try:
            socket.create_connection((record.gateway, port), timeout=1.0).close()
        except OSError as error:
            elapsed_time = time.monotonic() - start_time
            if elapsed_time > START_LIMIT or (elapsed_time > 2 and not background.is_running(record, part)):
                reason = background.read_last_lines(record, part)
                hint = Command("cat", str(record.locate_console(part)))
                raise LabError("lab-mirror-dead", f"The lab's {part} did not start.", reason, hint) from error
            time.sleep(0.1)
            continue
        report(Event("done", part, f"serves on {record.gateway}:{port}", time.monotonic() - start_time))
        return
