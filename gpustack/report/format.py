"""Formats of counts, times, names and commands that all reports share."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from gpustack.ask.probe import CLUSTER
from gpustack.ask.redact.printable import clean_text
from gpustack.ask.redact.redact import redact
from gpustack.events import format_count

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory
    from gpustack.rollout.plan import Plan

MAX_NAMES = 4
MISSING_PREFIX = "not asked of "
"""The reason of an unknown check begins so where the recording has no answer of its probe."""
NOT_RECORDED = "the recording lacks the answers: an older release made it, or it was cut off"

Clean = Callable[[str], str]
"""A cleaner takes secrets and terminal escapes out of a text."""


def format_location(location: str) -> str:
    return "the cluster" if location == CLUSTER else location


def format_locations(locations: Sequence[str]) -> str:
    """Format the names of locations: all of a few, the first ones of many."""
    names = [format_location(location) for location in dict.fromkeys(locations)]
    if len(names) <= MAX_NAMES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:MAX_NAMES])} and {len(names) - MAX_NAMES} more"


def format_facts(plan: "Plan") -> str:
    """Format the number of facts: `61 facts`, or `58 of 61 facts` where answers are missing."""
    answers = plan.snapshot.answers.values()
    lost_count = sum(1 for answer in answers if answer.missing_reason)
    if lost_count:
        return f"{len(answers) - lost_count} of {format_count(len(answers), 'fact')}"
    return format_count(len(answers), "fact")


def build_cleaner(inventory: "Inventory | None") -> Clean:
    secrets = inventory.secrets if inventory else ()
    return lambda text: redact(clean_text(text), secrets)


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
