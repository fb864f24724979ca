"""A doctor's rounds: the same questions again and again, one round after the other, never two at once."""

import time
from collections.abc import Callable
from pathlib import Path

from gpustack.ask.snapshot import Snapshot
from gpustack.doctor import diagnose, watch
from gpustack.doctor.finding import Diagnosis
from gpustack.report.codes import doctor_code
from gpustack.report.doctor import changes, metrics
from gpustack.report.render import console, show


def run_rounds(interval: float, made: Callable[[], int], wait: Callable[[float], None] = time.sleep) -> int:
    """Makes a round every `interval` seconds, or as soon as the last one ended where it took longer. Ends with Ctrl-C,
    and with the exit status of the last whole round. Raises KeyboardInterrupt where there was none."""
    code: int | None = None
    try:
        while True:
            began = time.monotonic()
            code = made()
            wait(max(0.0, began + interval - time.monotonic()))
    except KeyboardInterrupt:
        if code is None:
            raise
        return code


class Watcher:
    """Shows the first diagnosis whole, then only what changed."""

    def __init__(self, output: str, *, verbose: bool) -> None:
        self.output, self.verbose = output, verbose
        self.before: Diagnosis | None = None

    def show(self, found: Diagnosis) -> None:
        before, self.before = self.before, found
        changed = watch.changes(before, found) if before else ()
        if before is None or (changed and self.output != "human"):
            show(found, self.output, verbose=self.verbose)
        elif changed:
            changes.changes(console(), found, changed, verbose=self.verbose)


def make_check(read: Callable[[], Snapshot], watcher: Watcher, file: Path | None) -> Callable[[], int]:
    """One round: read, diagnose, show. Returns the exit status. `file` is for the metrics."""

    def check() -> int:
        diagnosis = diagnose.diagnose(read())
        if file:
            metrics.write(diagnosis, file)
        watcher.show(diagnosis)
        return doctor_code(diagnosis)

    return check
