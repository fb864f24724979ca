"""Runs one check and says what it found: holds, broken or unknown. What was asked and cannot be read is unknown."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from gpustack.ask.probe import UNREADABLE, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import Evidence, View

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
    evidence: tuple[Evidence, ...] = ()


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


def check_id(check: Check) -> str:
    return check.__name__.replace("_", "-")


def judge(checks: Iterable[Check], snapshot: Snapshot, where: str) -> tuple[Judgement, ...]:
    """In the order of the checks. One unknown hides no other: each runs alone, on a view that notes only its own
    reading."""
    return tuple(judge_one(check, snapshot, where) for check in checks)


def judge_one(check: Check, snapshot: Snapshot, where: str) -> Judgement:
    found, evidence = run(check, snapshot, where)
    if isinstance(found, Exception):
        return Judgement(check_id(check), where, "unknown", None, reason(found), evidence)
    return Judgement(check_id(check), where, "broken" if found else "holds", found, "", evidence)


def run(
    check: Callable[[View], Value], snapshot: Snapshot, where: str
) -> tuple[Value | Exception, tuple[Evidence, ...]]:
    """What a check returns there, and what it read. A check that fails on what a host answered is unknown as well (then
    the exception is returned): the other hosts are judged all the same."""
    view = View(snapshot, where)
    try:
        return check(view), view.evidence
    except (FactUnavailable, *UNREADABLE) as error:
        # Its traceback would keep all that the check had in hand.
        return error.with_traceback(None), view.evidence


def step_outcome(judgements: Iterable[Judgement]) -> Outcome:
    """Of all checks of a step."""
    outcomes = {one.outcome for one in judgements}
    return "broken" if "broken" in outcomes else "unknown" if "unknown" in outcomes else "holds"


def reason(error: Exception) -> str:
    if isinstance(error, FactUnavailable):
        return str(error)
    return f"the answers are of no known shape ({type(error).__name__}: {error})"
