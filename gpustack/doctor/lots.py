"""What was judged of thousands of hosts, at little memory: what alike hosts say is kept once, and a Judged is made when
somebody looks at it. Of a million of them hardly anybody does.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gpustack.ask.alike import Heard, Seen
from gpustack.ask.judge import unreadable
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.finding import Judged, Outcome, Place


class Lots(Mapping[Place, Judged]):
    """First what steps say (`first`), then what the checks of `rows` do, by id and place. What both judge stands where
    the step has it and is as the check says."""

    def __init__(self, snapshot: Snapshot, first: dict[Place, Judged], rows: Mapping[str, Mapping[str, Heard]]) -> None:
        self.snapshot, self.first, self.rows = snapshot, first, rows
        both = [(id, where) for id, where in first if where in rows.get(id, ())]
        self.first |= {(id, where): self.made(id, where, rows[id][where]) for id, where in both}

    def __getitem__(self, place: Place) -> Judged:
        """Raises KeyError."""
        if place in self.first:
            return self.first[place]
        id, where = place
        return self.made(id, where, self.rows[id][where])

    def __contains__(self, place: object) -> bool:
        if not isinstance(place, tuple):
            return False
        return place in self.first or place[1] in self.rows.get(place[0], ())

    def __iter__(self) -> Iterator[Place]:
        return self.spots("confirmed", "refuted", "unknown")

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def spots(self, *outcomes: Outcome, id: str = "") -> Iterator[Place]:
        """Where one of these came out, of all ids or of one."""
        for place, one in self.first.items():
            if one.outcome in outcomes and id in ("", place[0]):
                yield place
        for name in [id] if id else self.rows:
            row = self.rows.get(name, {})
            # What alike hosts say is one object: looked at once.
            fits = {heard for heard in set(row.values()) if outcome(heard.said) in outcomes}
            for where, heard in row.items() if fits else ():
                if heard in fits and (name, where) not in self.first:
                    yield name, where

    def made(self, id: str, where: str, heard: Heard) -> Judged:
        seen = Seen(self.snapshot, where, heard.read)
        said = heard.said
        told, why = (None, unreadable(said)) if isinstance(said, Exception) else (said, "")
        return Judged(id, where, outcome(said), told, why, seen)


def outcome(said: Any) -> Outcome:
    """`said` is a Told, or why there is none."""
    if isinstance(said, Exception):
        return "unknown"
    return "confirmed" if said.confirmed else "refuted"
