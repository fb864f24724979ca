"""Mistakes in files of the operator, and one error that lists all of them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from gpustack.errors import ConfigError

PLACE = re.compile(r"(?P<file>.+?):(?P<line>[0-9]+)(:[0-9]+)?(, hosts? .*)?")


@dataclass(frozen=True)
class Complaint:
    """Describe a mistake. `file` is the path as the operator knows it (may be empty), `key` is dotted, `actual` is the
    text that stands there, and `rule` says what is allowed."""

    file: str
    key: str
    actual: str
    rule: str
    reference: str = "config-invalid"
    nearest: str = ""

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.file, self.key) if part)
        text = f"{place}: {self.actual}; allowed: {self.rule}"
        return f"{text}; did you mean {self.nearest}?" if self.nearest else text


def find_nearest(word: str, words: Sequence[str]) -> str:
    """Find the known word that looks most like `word`, whatever its case and the dashes in it are. Return an empty
    string where none does."""
    spellings = {fold_spelling(candidate): candidate for candidate in words}
    matches = get_close_matches(fold_spelling(word), spellings, n=1, cutoff=0.6)
    return spellings[matches[0]] if matches else ""


def fold_spelling(word: str) -> str:
    return word.lower().replace("_", "-")


def suggest_nearest(words: Sequence[str], known_words: Sequence[str]) -> str:
    """Ask whether the known words that look most like `words` were meant. Return an empty string where none does."""
    nearest_words = dict.fromkeys(filter(None, (find_nearest(word, known_words) for word in words)))
    return f"Did you mean {', '.join(nearest_words)}?" if nearest_words else ""


def describe_choice(words: Sequence[str], known_words: Sequence[str], title: str) -> str:
    """Describe what may stand in place of words that nothing is named: the nearest names, and all of them."""
    return "\n".join(
        filter(None, (suggest_nearest(words, known_words), f"{title}: {', '.join(known_words) or 'none'}"))
    )


def refuse(complaints: Sequence[Complaint]) -> None:
    """Raise ConfigError with every complaint in it. Do nothing without one."""
    if not complaints:
        return
    kinds = {complaint.reference for complaint in complaints}
    reference = kinds.pop() if len(kinds) == 1 else "config-invalid"
    count = "1 mistake" if len(complaints) == 1 else f"{len(complaints)} mistakes"
    raise ConfigError(
        reference,
        f"{count} in the configuration; nothing was asked or changed.",
        "\n".join(str(complaint) for complaint in order_complaints(complaints)),
    )


def order_complaints(complaints: Sequence[Complaint]) -> list[Complaint]:
    """Order complaints as a reader goes through the files: one file after the other, in each from top to bottom."""
    files = list(dict.fromkeys(split_place(complaint.file)[0] for complaint in complaints))

    def compute_rank(complaint: Complaint) -> tuple[int, int]:
        file, line = split_place(complaint.file)
        return files.index(file), line

    return sorted(complaints, key=compute_rank)


def split_place(place: str) -> tuple[str, int]:
    """Split `FILE:LINE` or `FILE:LINE, host NAME`. A place without a line is all of its file, line 0."""
    match = PLACE.fullmatch(place)
    return (match["file"], int(match["line"])) if match else (place, 0)
