"""Running one check: its outcome is ok, failed or unknown. An answer that was asked for and cannot be read makes it
unknown."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from gpustack.ask.probe import UNREADABLE, Evidence, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Hint, name_inventory

Cure = Literal["install", "upgrade", "operator"]
Outcome = Literal["ok", "failed", "unknown"]
Names = tuple[tuple[str, str], ...]
Value = TypeVar("Value")


@dataclass(frozen=True)
class Result:
    """Hold what a check found.

    With `ok`, `actual` is as it should be. Otherwise `fault` is the id of the fault that the check confirms, and `cure`
    says who corrects it: `install`, only `upgrade`, or the `operator` (then `hint` says how). `passing`: the state
    corrects itself once what it depends on is back.

    `quote` are words that all stand on the line of an answer that shows it. For the remediation of the catalogue,
    `names` are what stands for its words (see `build_names()` in gpustack/doctor/check.py), and `person` says why it
    does not apply here, and what a person has to do. `certain` is False where the evidence fits other causes as well.
    `latent`: nothing suffers yet from what was found, and something may later.
    """

    subject: str
    expected: str
    actual: str
    cure: Cure = "install"
    fault: str = ""
    hint: Hint = NO_HINT
    passing: bool = False
    ok: bool = False
    quote: str = ""
    names: Names = ()
    person: Hint = NO_HINT
    certain: bool = True
    latent: bool = False

    def __str__(self) -> str:
        if self.ok or not self.expected:
            return f"{self.subject}: {self.actual}"
        return f"{self.subject}: expected {self.expected}, actual {self.actual}"


Check = Callable[[View], Result | None]
"""A check returns None where all is as it should be and there is nothing to say of it."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Hold the outcome of one check at one location (a host or @cluster). `id` is the id of the check; `reason` is set
    when the outcome is unknown."""

    id: str
    location: str
    outcome: Outcome
    result: Result | None = None
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()

    @property
    def place(self) -> tuple[str, str]:
        return self.id, self.location


def judge(id: str, check: Check, snapshot: Snapshot, location: str) -> Judgement:
    """Run one check at one location.

    Each check runs alone, on a view that notes only its own reads, so that an unknown one hides no other. A check that
    raises on what a host answered is unknown as well, and the other hosts are judged all the same.
    """
    view = View(snapshot, location)
    try:
        result = check(view)
    except (FactUnavailable, *UNREADABLE) as error:
        return Judgement(id, location, "unknown", None, describe_error(error), view.evidence)
    if result and result.hint:
        result = replace(result, hint=name_inventory(result.hint, snapshot.inventory.name))
    return Judgement(id, location, "failed" if result and not result.ok else "ok", result, "", view.evidence)


def build_ok_result(subject: str, actual: str) -> Result:
    return Result(subject, "", actual, ok=True)


def expect(
    subject: str,
    expected: Value,
    actual: Value,
    cure: Cure = "install",
    fault: str = "",
    hint: Hint = NO_HINT,
    *,
    passing: bool = False,
) -> Result | None:
    """Build a result unless both values are equal."""
    if expected == actual:
        return None
    return Result(subject, format_value(expected), format_value(actual), cure, fault, hint, passing)


def format_value(value: Any) -> str:
    if value is None or value == "":
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (set, frozenset, list, tuple)):
        return ", ".join(sorted(str(part) for part in value)) or "nothing"
    return str(value)


def describe_error(error: Exception) -> str:
    if isinstance(error, FactUnavailable):
        return str(error)
    return f"the answers are of no known shape ({type(error).__name__}: {error})"
