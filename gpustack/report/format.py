"""Formats of counts, times, names and commands that all reports share."""

import re
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
WORD = re.compile(r"\S+")
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


def split_word(word: str, width: int) -> list[str]:
    """Split a word that is longer than a line: a path behind its last slash on the line, else a name behind one of its
    marks, else wherever the line ends."""
    parts = []
    while len(word) > width:
        end = word.rfind("/", 1, width) + 1 or max(word.rfind(mark, 1, width) for mark in "-_.,:=") + 1 or width
        parts.append(word[:end])
        word = word[end:]
    return [*parts, word]


def split_long_words(text: str, width: int) -> str:
    """Split the words of a text that are longer than a line, by spaces, so that it can be wrapped between words."""
    if all(len(word) <= width for word in text.split()):
        return text
    return WORD.sub(lambda match: " ".join(split_word(match[0], width)), text)


def cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
