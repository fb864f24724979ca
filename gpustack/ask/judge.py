"""Runs one check: its outcome is ok, failed or unknown. What was asked and cannot be read is unknown."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from gpustack.ask.probe import UNREADABLE, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import Evidence, View
from gpustack.command import NO_HINT, Hint

Cure = Literal["install", "upgrade", "operator"]
Outcome = Literal["ok", "failed", "unknown"]
Names = tuple[tuple[str, str], ...]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Result:
    """What a check found. `ok`: `found` is as it should be. Else `fault` is the id of what it confirms, and `cure` says
    who corrects it: `install`, only `upgrade`, or the `operator` (then `hint` says how); `passing`: it comes right by
    itself once what it depends on is back.

    `quote` are words of the line of an answer that shows it, all of them on it. For the remediation of the catalogue,
    `names` are what stands for its words (see `names()` in gpustack/doctor/check.py), and `person` says why it does not
    apply to what was found, and what a person has to do."""

    what: str
    expected: str
    found: str
    cure: Cure = "install"
    fault: str = ""
    hint: Hint = NO_HINT
    passing: bool = False
    ok: bool = False
    quote: str = ""
    names: Names = ()
    person: Hint = NO_HINT

    def __str__(self) -> str:
        if self.ok or not self.expected:
            return f"{self.what}: {self.found}"
        return f"{self.what}: expected {self.expected}, found {self.found}"


Check = Callable[[View], Result | None]
"""None is ok, with nothing to say of it."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """One check at one place (a host or @cluster). `id` is the check's; `why` is set when the outcome is unknown."""

    id: str
    where: str
    outcome: Outcome
    result: Result | None = None
    why: str = ""
    evidence: tuple[Evidence, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        return self.id, self.where


def judge(id: str, check: Check, snapshot: Snapshot, where: str) -> Judgement:
    """One unknown hides no other: each check runs alone, on a view that notes only its own reading. A check that fails
    on what a host answered is unknown as well, and the other hosts are judged all the same."""
    view = View(snapshot, where)
    try:
        result = check(view)
    except (FactUnavailable, *UNREADABLE) as error:
        return Judgement(id, where, "unknown", None, reason(error), view.evidence)
    return Judgement(id, where, "failed" if result and not result.ok else "ok", result, "", view.evidence)


def ok(what: str, found: str) -> Result:
    return Result(what, "", found, ok=True)


def expect(
    what: str,
    expected: Value,
    found: Value,
    cure: Cure = "install",
    fault: str = "",
    hint: Hint = NO_HINT,
    *,
    passing: bool = False,
) -> Result | None:
    """A Result unless both are equal."""
    if expected == found:
        return None
    return Result(what, as_text(expected), as_text(found), cure, fault, hint, passing)


def as_text(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (set, frozenset, list, tuple)):
        return ", ".join(sorted(str(part) for part in value)) or "nothing"
    return str(value)


def reason(error: Exception) -> str:
    if isinstance(error, FactUnavailable):
        return str(error)
    return f"the answers are of no known shape ({type(error).__name__}: {error})"
