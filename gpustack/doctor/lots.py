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
        self.by_id: dict[str, dict[Place, Judged]] = {}
        for place, one in self.first.items():
            self.by_id.setdefault(place[0], {})[place] = one
        self.outcomes: dict[str, dict[Heard, Outcome]] = {}

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
        for place, one in (self.by_id.get(id, {}) if id else self.first).items():
            if one.outcome in outcomes:
                yield place
        for name in [id] if id else self.rows:
            row, kinds, before = self.rows.get(name, {}), self.kinds(name), self.by_id.get(name, {})
            fits = {heard for heard, came in kinds.items() if came in outcomes}
            if len(fits) == len(kinds) and not before:
                yield from ((name, where) for where in row)
            elif fits:
                yield from (
                    (name, where) for where, heard in row.items() if heard in fits and (name, where) not in before
                )

    def kinds(self, id: str) -> dict[Heard, Outcome]:
        """What alike hosts say is one object: looked at once."""
        if id not in self.outcomes:
            self.outcomes[id] = {heard: outcome(heard.said) for heard in set(self.rows.get(id, {}).values())}
        return self.outcomes[id]

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
