"""The basis of numbers for people: a mark behind a number or a heading, and what the marks mean."""

import re
from collections.abc import Iterable, Iterator, Sequence

from gpustack.vocabulary.basis import BASES, MARKS, Basis

MARK_PATTERN = re.compile(r"[\w%*]([\^~])")


def mark_number(text: str, word: Basis | None) -> str:
    """Mark a number, or the heading of a column in which all have this basis."""
    return text + (MARKS.get(word, "") if word else "")


def list_legend(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """List the line that explains the marks of a table; there is none where nothing is marked."""
    marks = {mark for cells in (headings, *rows) for cell in cells for mark in MARK_PATTERN.findall(cell)}
    if marks:
        yield "; ".join(f"{mark} {word}: {BASES[word]}" for word, mark in MARKS.items() if mark in marks)
