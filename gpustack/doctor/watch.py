"""Difference between one diagnosis and the next: lines that are new, resolved or changed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gpustack.doctor.finding import Diagnosis, Finding
from gpustack.doctor.states.state import AbnormalState

Kind = Literal["root", "risk", "note", "unexplained", "broken", "drift", "unknown"]
Turn = Literal["new", "resolved", "changed"]


@dataclass(frozen=True)
class Line:
    """Hold one statement of a diagnosis: `id` is one of the catalogue or step/check, `detail` its certainty or what
    differs. A broken state has its kind and its objects as id, and its message as detail."""

    kind: Kind
    id: str
    locations: tuple[str, ...]
    detail: str = ""


@dataclass(frozen=True)
class Change:
    """Hold a change of one line. `line` is the present one; for a resolved line, the earlier one."""

    turn: Turn
    line: Line


def list_lines(diagnosis: Diagnosis) -> Iterator[Line]:
    for root in diagnosis.roots:
        yield Line(find_root_kind(root), root.id, root.locations, root.certainty)
    for symptom in diagnosis.unexplained_symptoms:
        yield Line("unexplained", symptom.id, symptom.locations)
    for state in diagnosis.broken_states:
        yield Line("broken", build_state_id(state), state.locations, state.message)
    for drift in diagnosis.drift:
        yield Line("drift", f"{drift.step}/{drift.check}", drift.locations, str(drift.result))
    for location in sorted({judgement.location for judgement in diagnosis.unknown}):
        yield Line("unknown", location, (location,))


def find_root_kind(root: Finding) -> Kind:
    """Find the kind of a root cause: one that harms nothing yet is a risk, and no root cause of anything."""
    return "root" if root.severity == "broken" else root.severity


def build_state_id(state: AbnormalState) -> str:
    return f"{state.kind} {', '.join(state.subjects)}"


def compare_diagnoses(before: Diagnosis, after: Diagnosis) -> tuple[Change, ...]:
    """Compare two diagnoses. A line that is on other hosts than before has changed."""
    lines_before, lines_after = index_lines(before), index_lines(after)
    resolved_changes = [Change("resolved", line) for key, line in lines_before.items() if key not in lines_after]
    return (
        *resolved_changes,
        *(
            Change("changed" if key in lines_before else "new", line)
            for key, line in lines_after.items()
            if lines_before.get(key) != line
        ),
    )


def index_lines(diagnosis: Diagnosis) -> dict[tuple[Kind, str], Line]:
    """Index the lines of a diagnosis by kind and id. A check of a step that differs in several ways is one line."""
    lines: dict[tuple[Kind, str], Line] = {}
    for line in list_lines(diagnosis):
        before = lines.get((line.kind, line.id), Line(line.kind, line.id, ()))
        detail = "; ".join(filter(None, (before.detail, line.detail)))
        lines[line.kind, line.id] = Line(line.kind, line.id, (*before.locations, *line.locations), detail)
    return lines
