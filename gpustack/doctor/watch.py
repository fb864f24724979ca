"""What changed from one diagnosis to the next: what is new, what is resolved, what is now surer or less so."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gpustack.doctor.finding import Diagnosis

Kind = Literal["root", "unexplained", "drift", "unknown"]
Turn = Literal["new", "resolved", "changed"]


@dataclass(frozen=True)
class Line:
    """One thing that a diagnosis says: `id` of the catalogue or step/check, `how` its certainty or what differs."""

    kind: Kind
    id: str
    locations: tuple[str, ...]
    how: str = ""


@dataclass(frozen=True)
class Change:
    """`line` is as it is now; of what is resolved, as it was."""

    turn: Turn
    line: Line


def lines(found: Diagnosis) -> Iterator[Line]:
    for root in found.roots:
        yield Line("root", root.id, root.locations, root.certainty)
    for one in found.unexplained:
        yield Line("unexplained", one.id, one.locations)
    for drift in found.drift:
        yield Line("drift", f"{drift.step}/{drift.check}", drift.locations, str(drift.result))
    for where in sorted({one.where for one in found.unknown}):
        yield Line("unknown", where, (where,))


def changes(before: Diagnosis, now: Diagnosis) -> tuple[Change, ...]:
    """What is there on other hosts than before has changed."""
    were, are = by_id(before), by_id(now)
    resolved = [Change("resolved", line) for key, line in were.items() if key not in are]
    return (
        *resolved,
        *(Change("changed" if key in were else "new", line) for key, line in are.items() if were.get(key) != line),
    )


def by_id(found: Diagnosis) -> dict[tuple[Kind, str], Line]:
    """The same check of a step may differ in several ways: they are one line."""
    known: dict[tuple[Kind, str], Line] = {}
    for line in lines(found):
        before = known.get((line.kind, line.id), Line(line.kind, line.id, ()))
        how = "; ".join(filter(None, (before.how, line.how)))
        known[line.kind, line.id] = Line(line.kind, line.id, (*before.locations, *line.locations), how)
    return known
