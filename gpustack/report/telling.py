"""Which line of an answer tells what was found in it."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from gpustack.report.answer_lines import Line, lines, words

# When a file was written, behind its name in a heading.
NUMBERED = re.compile(r" \d+$")
WORD = re.compile(r"\w")
# What was found missing, or said not to be so: sought in vain.
NEGATED = re.compile(r"\bnot \S+")
ABSENT = re.compile(r"\b[Nn]o (\S*[./_-]\S*\w)")
NAME = re.compile(r"\b[A-Z]+_[A-Z_]+\b")
DASHED = re.compile(r"(\w+-\S+)")
COMMON = frozenset(
    (
        "and",
        "are",
        "does",
        "found",
        "has",
        "have",
        "its",
        "none",
        "not",
        "nothing",
        "than",
        "that",
        "the",
        "this",
        "with",
    )
)
LONG, LEAD = 160, 30
"""Characters of a line that is shown whole; and before the word that a longer one is shown for."""


@dataclass(frozen=True)
class Sought:
    """What is looked for: a line with all parts of the quote, where there is one; the words of what was found, and
    names in what it should have been; next, parts of words, those of what it should have been too. `by` is the id of
    the probe that said it, where it was one alone."""

    found: str
    wished: str = ""
    quote: str = ""
    by: str = ""

    @cached_property
    def words(self) -> set[str]:
        return (words(NEGATED.sub(" ", self.found)) | set(NAME.findall(self.wished))) - COMMON

    @cached_property
    def others(self) -> set[str]:
        return {word.casefold().replace("/", ".") for word in (words(self.wished) - COMMON) | self.words}

    def hits(self, line: Line) -> int:
        """Of these words those that a line has, in characters."""
        return sum(map(len, self.words & line.words))

    def near(self, line: Line) -> int:
        said = line.text.casefold().replace("/", ".")
        heading = NUMBERED.sub("", line.heading)
        named = len(heading) if heading in self.found else 0
        return named + sum(len(word) for word in self.others if word in said)

    def quoted(self, there: Sequence[Line]) -> Line | None:
        parts = self.quote.split()
        fits = (line for line in there if all(part in f"{line.heading} {line.text}" for part in parts))
        return next(fits, None) if parts else None

    def share(self, text: str) -> tuple[int, int]:
        """The most that a line of a text has."""
        there = lines(text)
        return max(map(self.hits, there), default=0), max(map(self.near, there), default=0)


def telling(text: str, sought: Sought, room: int = LONG) -> Line:
    """The line with most of the words, rare ones before others, those of its heading with them; else the first that is
    no heading or comment. Where something is not there, that nothing speaks of it."""
    there = lines(text)
    if line := sought.quoted(there):
        return Line(around(line.text, sought, Counter(), room), line.heading)
    if sought.quote and text.strip():
        return Line(f"(no line with {', '.join(sought.quote.split())})")
    if sought.found == "nothing" and text.strip():
        return Line("(nothing of it)")
    gone = ABSENT.search(sought.found) or (sought.found.startswith("no such ") and DASHED.search(sought.wished))
    if gone and text.strip() and gone[1].rsplit("/", 1)[-1] not in text:
        return Line(f"(nothing of {gone[1]})")
    # Of JSON in lines, not its brackets.
    there = [line for line in there if WORD.search(line.text)] or there
    often = Counter(word for line in there for word in sought.words & line.words)

    def score(line: Line) -> tuple[float, ...]:
        return sum(len(word) / often[word] ** 0.5 for word in sought.words & line.words), sought.near(line)

    best = max(there, key=score, default=Line())
    return Line(around(best.text, sought, often, room), best.heading)


def around(text: str, sought: Sought, often: Counter[str], room: int) -> str:
    """Of a line that is longer than there is room what stands around the rarest of the words."""
    if len(text) <= room:
        return text
    quoted = sought.quote.split()[-1:]
    there = quoted or sorted(sought.words & words(text), key=lambda word: (often[word], -len(word)))
    spot = text.find(there[0]) if there else 0
    return f"…{text[spot - LEAD :]}" if spot > LEAD and spot + len(there[0]) > room else text
