"""Rounds of `gpustack doctor --watch`. A round begins after the previous one has ended."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from gpustack.doctor import watch
from gpustack.doctor.finding import Diagnosis, Selection
from gpustack.doctor.selection import select_findings
from gpustack.remedy.commands import add_commands
from gpustack.report.doctor import changes, metrics
from gpustack.report.render import build_console, show_result


def run_rounds(interval: float, run_round: Callable[[], int], wait: Callable[[float], None] = time.sleep) -> int:
    """Run a round every `interval` seconds until Ctrl-C; a round that takes longer delays the next one. Return the exit
    status of the last complete round. Raise KeyboardInterrupt where no round was completed."""
    code: int | None = None
    try:
        while True:
            start_time = time.monotonic()
            code = run_round()
            wait(max(0.0, start_time + interval - time.monotonic()))
    except KeyboardInterrupt:
        if code is None:
            raise
        return code


class Watcher:
    """Show the first diagnosis in full, and of later ones only the changes."""

    def __init__(self, output: str, *, verbose: bool) -> None:
        self.output, self.verbose = output, verbose
        self.before: Diagnosis | None = None

    def show(self, diagnosis: Diagnosis) -> None:
        before, self.before = self.before, diagnosis
        diagnosis_changes = watch.compare_diagnoses(before, diagnosis) if before else ()
        if before is None or (diagnosis_changes and self.output != "human"):
            show_result(diagnosis, self.output, verbose=self.verbose)
        elif diagnosis_changes:
            changes.print_changes(build_console(), diagnosis, diagnosis_changes, verbose=self.verbose)


def make_check(
    read: Callable[[], Diagnosis],
    watcher: Watcher,
    file: Path | None,
    selection: Selection | None = None,
    *,
    strict: bool = False,
) -> Callable[[], int]:
    """Return the function of one round, which diagnoses, selects and shows, and returns the exit status. The
    metrics are written to `file`; with `strict`, risks and notes count for the exit status."""

    def check() -> int:
        diagnosis = read()
        if selection:
            diagnosis = select_findings(diagnosis, selection)
        diagnosis = replace(add_commands(diagnosis), strict=strict)
        if file:
            metrics.write_metrics(diagnosis, file)
        watcher.show(diagnosis)
        return diagnosis.exit_status

    return check
