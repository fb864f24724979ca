"""Runs one check and says what it found: holds, broken or unknown. What was asked and cannot be read is unknown."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, overload

from gpustack.ask.alike import Evidence, Heard, Seen, everywhere
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View

Cure = Literal["install", "upgrade", "operator"]
Outcome = Literal["holds", "broken", "unknown"]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Mismatch:
    """What differs. `cure`: `install` mends it, only `upgrade` may, or the `operator` must (then `hint` says how).
    `passing`: it comes right by itself once what it depends on is back."""

    what: str
    expected: str
    found: str
    cure: Cure = "install"
    fault: str = ""
    hint: str = ""
    passing: bool = False

    def __str__(self) -> str:
        return f"{self.what}: expected {self.expected}, found {self.found}"


Check = Callable[[View], Mismatch | None]


@dataclass(frozen=True, slots=True)
class Judgement:
    """`check` is the function's name as an id; `why` is set when the outcome is unknown."""

    check: str
    where: str
    outcome: Outcome
    mismatch: Mismatch | None = None
    why: str = ""
    evidence: Sequence[Evidence] = ()


def expect(
    what: str,
    expected: Value,
    found: Value,
    cure: Cure = "install",
    fault: str = "",
    hint: str = "",
    *,
    passing: bool = False,
) -> Mismatch | None:
    """A Mismatch unless both are equal."""
    if expected == found:
        return None
    return Mismatch(what, said(expected), said(found), cure, fault, hint, passing)


def said(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (set, frozenset, list, tuple)):
        return ", ".join(sorted(str(part) for part in value)) or "nothing"
    return str(value)


class Checked(Sequence[Judgement]):
    """What several checks say at one place, in their order; each is made when somebody looks at it. Of alike hosts
    `heard` is equal. One unknown hides no other: each check runs alone, on a view that notes only its own reading. A
    check that falls over what a host said cannot tell either; the other hosts are judged all the same."""

    __slots__ = ("heard", "names", "snapshot", "where")

    def __init__(self, snapshot: Snapshot, where: str, names: Sequence[str], heard: tuple[Heard, ...]) -> None:
        self.snapshot, self.where, self.names, self.heard = snapshot, where, names, heard

    @overload
    def __getitem__(self, at: int) -> Judgement: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Judgement]: ...
    def __getitem__(self, at: int | slice) -> Judgement | Sequence[Judgement]:
        if isinstance(at, slice):
            return tuple(self)[at]
        heard = self.heard[at]
        return judgement(self.names[at], heard.said, Seen(self.snapshot, self.where, heard.read))

    def __len__(self) -> int:
        return len(self.heard)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))


def named(check: Check) -> str:
    return check.__name__.replace("_", "-")


def judge(checks: Sequence[Check], snapshot: Snapshot, wheres: Sequence[str]) -> list[Checked]:
    """In the order of the places."""
    names = tuple(map(named, checks))
    rows = [everywhere(check, snapshot, wheres) for check in checks]
    return [Checked(snapshot, where, names, tuple(row[where] for row in rows)) for where in wheres]


def standing(heard: Iterable[Heard]) -> Outcome:
    """Of all checks of a step."""
    outcomes = {outcome(one.said) for one in heard}
    return "broken" if "broken" in outcomes else "unknown" if "unknown" in outcomes else "holds"


def outcome(said: Mismatch | Exception | None) -> Outcome:
    return "unknown" if isinstance(said, Exception) else "broken" if said else "holds"


def judgement(name: str, said: Mismatch | Exception | None, seen: Seen) -> Judgement:
    if isinstance(said, Exception):
        return Judgement(name, seen.where, outcome(said), None, unreadable(said), seen)
    return Judgement(name, seen.where, outcome(said), said, "", seen)


def unreadable(error: Exception) -> str:
    if isinstance(error, FactUnavailable):
        return str(error)
    return f"the answers are of no known shape ({type(error).__name__}: {error})"
