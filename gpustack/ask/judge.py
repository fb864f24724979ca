"""Runs one check and says what it found: holds, broken or unknown. The only place that catches FactUnavailable."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from gpustack.ask.probe import UNREADABLE, Answer, FactUnavailable, Probe
from gpustack.ask.script import command
from gpustack.ask.view import View
from gpustack.config.resolved import names

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


@dataclass(frozen=True)
class Evidence:
    """A command and what it said."""

    where: str
    command: str
    answer: Answer


@dataclass(frozen=True)
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


def judge(check: Check, here: View) -> Judgement:
    """One unknown hides no other: each check runs alone, on a view that notes only its own reading. A check that falls
    over what a host said cannot tell either; the other hosts are judged all the same."""
    view = View(here.snapshot, here.where)
    name = check.__name__.replace("_", "-")
    try:
        mismatch = check(view)
    except FactUnavailable as error:
        return Judgement(name, here.where, "unknown", None, str(error), evidence(view))
    except UNREADABLE as error:
        why = f"the answers are of no known shape ({type(error).__name__}: {error})"
        return Judgement(name, here.where, "unknown", None, why, evidence(view))
    return Judgement(name, here.where, "broken" if mismatch else "holds", mismatch, "", evidence(view))


def evidence(view: View) -> tuple[Evidence, ...]:
    read: dict[tuple[str, str], tuple[Probe[Any], str]] = {
        (probe.id, where): (probe, where) for probe, where in view.read
    }
    named = names(view.spec)
    return tuple(
        Evidence(where, command(probe, named), view.snapshot.answer(probe, where)) for probe, where in read.values()
    )
