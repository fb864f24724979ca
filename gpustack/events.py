"""Events of a run, as values. Commands emit them; reporters (progress, log, evidence) consume them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

INTERRUPTION = "interrupted"
"""Why a run stopped, where somebody stopped it."""

Kind = Literal["ask", "asked", "step", "task", "changed", "failed", "waiting", "done", "note"]


@dataclass(frozen=True)
class Event:
    """Describe one event. `subject` is a host, a step id, a bundle part or empty; `seconds` is its duration, 0.0 if it
    just began."""

    kind: Kind
    subject: str
    message: str
    seconds: float = 0.0


Reporter = Callable[[Event], None]


def ignore_event(event: Event) -> None:
    """Ignore an event, as the reporter of callers that do not listen."""


def format_count(number: int, noun: str) -> str:
    """Format a number with its noun, as `1 host` or `2 hosts`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
