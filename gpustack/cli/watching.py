"""A doctor's rounds: the same questions again and again, one round after the other, never two at once."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpustack.doctor.finding import Diagnosis


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

    def show(self, found: "Diagnosis") -> None:
        from gpustack.doctor.watch import changes
        from gpustack.report.render import console, show

        before, self.before = self.before, found
        changed = changes(before, found) if before else ()
        if before is None or (changed and self.output != "human"):
            show(found, self.output, verbose=self.verbose)
        elif changed:
            from gpustack.report.doctor.changes import changes as show_changes

            show_changes(console(), found, changed, verbose=self.verbose)
