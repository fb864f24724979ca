"""Mistakes in files of the operator, and one error that lists all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from gpustack.errors import ConfigError


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
    """Find the known word that looks most like `word`. Return an empty string where none does."""
    return next(iter(get_close_matches(word, words, n=1, cutoff=0.6)), "")


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
        "\n".join(str(complaint) for complaint in complaints),
    )
