"""Rows of text that wrap below their own beginning, at the width of the console."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import wrap

from gpustack.report.terminal import Terminal

TIED_SPACE, TIE = re.compile(r"(?<=\d) (?=%|W\b|[MG]|°)|(?<=[~^]) "), "\N{NO-BREAK SPACE}"
"""A number stays with its unit, and a mark of a table with its word."""
LEAST_WIDTH = 16  # of a text: a narrower console wraps by itself


@dataclass(frozen=True)
class Row:
    """Hold a text behind its heading; further lines of the text begin where the first one does."""

    text: str = ""
    heading: str = ""


def print_rows(console: Terminal, rows: Iterable[Row]) -> None:
    """Print rows. Texts are cleaned before they are wrapped, and words are never cut."""
    for row in rows:
        heading = console.clean(row.heading)
        for line in wrap_text(console.clean(row.text), heading, console.width):
            console.print(line, soft_wrap=True)


def print_notes(console: Terminal, notes: Iterable[str]) -> None:
    """Print each text as a note, below what it is about."""
    print_rows(console, (Row(note, "note: ") for note in notes))


def wrap_text(text: str, heading: str, width: int) -> list[str]:
    """Wrap a text behind its heading. A text of no words is one line too."""
    room = max(LEAST_WIDTH, width - len(heading))
    lines = wrap(TIED_SPACE.sub(TIE, text), room, break_long_words=False, break_on_hyphens=False) or [""]
    headings = [heading, *[" " * len(heading)] * (len(lines) - 1)]
    return [f"{start}{line}".replace(TIE, " ").rstrip() for start, line in zip(headings, lines, strict=True)]
