"""A diagnosis in a line for each cause, for where it stands below something else."""

from collections.abc import Iterator
from pathlib import Path

from gpustack.command import Command
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.graph import graph
from gpustack.events import count
from gpustack.report.doctor.format import heading
from gpustack.report.format import Clean, cleaner, places

SHOWN = 10
"""Causes; of a cluster where so much is wrong, the whole report says more."""


def text(found: Diagnosis, path: Path) -> str:
    """`path` is the snapshot that was diagnosed."""
    found_lines = list(lines(found, cleaner(found.snapshot.inventory)))
    more = [f"and {len(found_lines) - SHOWN} more"] if len(found_lines) > SHOWN else []
    shown = [*found_lines[:SHOWN], *more] or ["no root cause found"]
    if found.unknown:
        shown.append(f"{count(len(found.unknown), 'check')} unknown")
    body = "".join(f"  {line}\n" for line in shown)
    command = Command("gpustack", "doctor", "--from", str(path), "-v")
    return f"\nsnapshot of the hosts: {path}\n{heading(found)}\n{body}more:  {command}\n"


def lines(found: Diagnosis, clean: Clean) -> Iterator[str]:
    for root in found.roots:
        title = graph()[root.id].title
        yield clean(f"root cause {root.id} on {places(root.locations)} ({root.certainty}): {title}")
    for one in found.unexplained:
        yield clean(f"unexplained {one.id} on {places(one.locations)}: {graph()[one.id].title}")
