"""What is going on, as values. Verbs emit events; reporters (progress, log, evidence) consume them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

INTERRUPTED = "interrupted"
"""Why a run stopped, where somebody stopped it."""

Kind = Literal["ask", "asked", "step", "task", "changed", "failed", "waiting", "done", "note"]


@dataclass(frozen=True)
class Event:
    """`where` is a host, a step id, a bundle part or empty; `seconds` is how long it took, 0.0 if it just began."""

    kind: Kind
    where: str
    what: str
    seconds: float = 0.0


Reporter = Callable[[Event], None]


def silent(event: Event) -> None:
    """The reporter of callers that do not listen."""


def count(number: int, thing: str) -> str:
    """`1 host`, `2 hosts`."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
