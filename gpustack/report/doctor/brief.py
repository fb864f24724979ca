"""A diagnosis in one line per root cause, for use below another report."""

from collections.abc import Iterator
from pathlib import Path

from gpustack.command import Command
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.graph import load_graph
from gpustack.events import format_count
from gpustack.report.doctor.format import format_heading
from gpustack.report.doctor.states import format_subject
from gpustack.report.format import Clean, build_cleaner, format_locations

MAX_CAUSES = 10
"""The brief form lists so many causes at most; the whole report has the others."""


def render_brief(diagnosis: Diagnosis, path: Path) -> str:
    """Render a diagnosis in one line per root cause. `path` is the snapshot that was diagnosed."""
    cause_lines = list(list_lines(diagnosis, build_cleaner(diagnosis.snapshot.inventory)))
    remainder = [f"and {len(cause_lines) - MAX_CAUSES} more"] if len(cause_lines) > MAX_CAUSES else []
    lines = [*cause_lines[:MAX_CAUSES], *remainder] or ["no root cause found"]
    if diagnosis.unknown:
        lines.append(f"{format_count(len(diagnosis.unknown), 'check')} unknown")
    body = "".join(f"  {line}\n" for line in lines)
    command = Command("gpustack", "doctor", "--from", str(path), "-v")
    return f"\nsnapshot of the hosts: {path}\n{format_heading(diagnosis)}\n{body}more:  {command}\n"


def list_lines(diagnosis: Diagnosis, clean: Clean) -> Iterator[str]:
    for root in diagnosis.roots:
        title = load_graph()[root.id].title
        kind = "root cause" if root.severity == "broken" else root.severity
        yield clean(f"{kind} {root.id} on {format_locations(root.locations)} ({root.certainty}): {title}")
    for state in diagnosis.broken_states:
        yield clean(f"broken {format_subject(state)} on {format_locations(state.locations)}: {state.message}")
    for symptom in diagnosis.unexplained_symptoms:
        yield clean(
            f"unexplained {symptom.id} on {format_locations(symptom.locations)}: {load_graph()[symptom.id].title}"
        )
