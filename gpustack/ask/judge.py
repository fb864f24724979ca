"""Runs one check and says what it found: holds, broken or unknown. What was asked and cannot be read is unknown."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from gpustack.ask.alike import Evidence, Seen, everywhere
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


def judge(check: Check, snapshot: Snapshot, wheres: Iterable[str]) -> dict[str, Judgement]:
    """By place. One unknown hides no other: each check runs alone, on a view that notes only its own reading. A check
    that falls over what a host said cannot tell either; the other hosts are judged all the same."""
    name = check.__name__.replace("_", "-")
    return {
        where: judgement(name, heard.said, Seen(snapshot, where, heard.read))
        for where, heard in everywhere(check, snapshot, wheres).items()
    }


def judgement(name: str, said: Mismatch | Exception | None, seen: Seen) -> Judgement:
    if isinstance(said, Exception):
        return Judgement(name, seen.where, "unknown", None, unreadable(said), seen)
    return Judgement(name, seen.where, "broken" if said else "holds", said, "", seen)


def unreadable(error: Exception) -> str:
    if isinstance(error, FactUnavailable):
        return str(error)
    return f"the answers are of no known shape ({type(error).__name__}: {error})"
