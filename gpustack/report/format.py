"""How counts, times, names and commands are written, in every kind of report."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpustack.ask.probe import CLUSTER
from gpustack.ask.redact.printable import plain
from gpustack.ask.redact.redact import redact
from gpustack.events import count

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory
    from gpustack.rollout.plan import Plan

SHOWN_NAMES = 4
NOT_ASKED = "not asked of "
"""Why a probe is unknown that is newer than the recording."""
OLDER = "the recording was made by an older release"

Clean = Callable[[str], str]
"""A text as it may be shown: without secrets and terminal escapes."""


def duration(seconds: float) -> str:
    """`0.6 s`, `42 s`, `1 min 5 s`, `2 h 3 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, left = divmod(minutes, 60)
    return f"{hours} h {left} min" if left else f"{hours} h"


def place(where: str) -> str:
    return "the cluster" if where == CLUSTER else where


def places(locations: Sequence[str]) -> str:
    """All of a few, the first ones of many."""
    named = [place(where) for where in dict.fromkeys(locations)]
    if len(named) <= SHOWN_NAMES + 1:
        return ", ".join(named)
    return f"{', '.join(named[:SHOWN_NAMES])} and {len(named) - SHOWN_NAMES} more"


def facts(found: "Plan") -> str:
    """`61 facts`, or `58 of 61 facts` where answers were lost."""
    asked = found.snapshot.answers.values()
    lost = sum(1 for answer in asked if answer.lost)
    return f"{len(asked) - lost} of {count(len(asked), 'fact')}" if lost else count(len(asked), "fact")


def cleaner(inventory: "Inventory | None") -> Clean:
    secrets = inventory.secrets if inventory else ()
    return lambda text: redact(plain(text), secrets)


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
