"""Which line of an answer tells what was found in it. Of JSON the lines are its values, each with the way to it."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

# When a file was written, behind its name in a heading.
NUMBERED = re.compile(r" \d+$")
PARTS = re.compile(r"[\s=\"':,;()]+")
HEADING = "== "
NUMBER = re.compile(r"\d\d+")
VERSION = re.compile(r"^v(?=\d)")
WORD = re.compile(r"\w")
# What was found missing, or said not to be so: sought in vain.
NEGATED = re.compile(r"\bnot \S+")
ABSENT = re.compile(r"\b[Nn]o (\S*[./_-]\S*\w)")
# Of a line of a log when it was, and who wrote it down: the report says when it asked.
STAMP = re.compile(r'^time="[^"]*" (?=level=)|\b\d{4}-\d\d-\d\dT\S+ std(out|err) [FP] ')
COMMON = frozenset(
    ("and", "are", "does", "found", "have", "none", "not", "nothing", "than", "that", "the", "this", "with")
)
STEPS = 3
"""Of the way to a value that are shown."""
LARGE = 2_000_000
"""Characters of JSON that is not taken apart any more."""
LONG, LEAD = 160, 20
"""Characters of a line that is shown from its beginning; and before the word that a longer one is shown for."""


@dataclass(frozen=True)
class Line:
    """Of an answer, with the heading that it stands under: empty where nothing was said, or there is none."""

    text: str = ""
    heading: str = ""

    @cached_property
    def words(self) -> set[str]:
        return words(self.text) | words(self.heading)


@dataclass(frozen=True)
class Sought:
    """What is looked for: the words of what was found; next, parts of words, those of what it should have been too."""

    found: str
    wished: str = ""

    @cached_property
    def words(self) -> set[str]:
        return words(NEGATED.sub(" ", self.found)) - COMMON

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

    def share(self, text: str) -> tuple[int, int]:
        """The most that a line of a text has."""
        there = lines(text)
        return max(map(self.hits, there), default=0), max(map(self.near, there), default=0)


def telling(text: str, sought: Sought) -> Line:
    """The line with most of the words, rare ones before others, those of its heading with them; else the first that is
    no heading or comment. Where something is not there, that nothing speaks of it."""
    there = lines(text)
    if sought.found == "nothing" and text.strip():
        return Line("(nothing of it)")
    if (gone := ABSENT.search(sought.found)) and text.strip() and gone[1].rsplit("/", 1)[-1] not in text:
        return Line(f"(nothing of {gone[1]})")
    # Of JSON in lines, not its brackets.
    there = [line for line in there if WORD.search(line.text)] or there
    often = Counter(word for line in there for word in sought.words & line.words)

    def score(line: Line) -> tuple[float, ...]:
        return sum(len(word) / often[word] ** 0.5 for word in sought.words & line.words), sought.near(line)

    best = max(there, key=score, default=Line())
    return Line(around(best.text, sought, often), best.heading)


def around(text: str, sought: Sought, often: Counter[str]) -> str:
    """Of a long line what stands around the rarest of the words."""
    if len(text) <= LONG:
        return text
    there = sorted(sought.words & words(text), key=lambda word: (often[word], -len(word)))
    spot = text.find(there[0]) if there else 0
    return f"…{text[spot - LEAD :]}" if spot > LONG else text


def words(text: str) -> set[str]:
    """Those that are worth seeking: with the last part of each path, versions without their v, no short ones."""
    whole = {VERSION.sub("", word) for word in PARTS.split(text) if len(word) > 2 or NUMBER.fullmatch(word)}
    return whole | {last for word in whole if len(last := word.rsplit("/", 1)[-1]) > 2}


def lines(text: str) -> list[Line]:
    """Without headings and comments."""
    if said := values(text):
        return [Line(line) for line in said]
    found, heading = [], ""
    for line in text.splitlines():
        if line.startswith(HEADING):
            heading = line.removeprefix(HEADING)
        elif said := values(line):
            found += [Line(one, heading) for one in said]
        elif line.strip() and not line.startswith("# "):
            found.append(Line(STAMP.sub("", line.strip()), heading))
    return found


def values(text: str) -> list[str]:
    """Of JSON; empty where it is none."""
    if not text.startswith(("{", "[")) or len(text) > LARGE:
        return []
    try:
        return list(leaves(json.loads(text), ""))
    except (ValueError, RecursionError):
        return []


def leaves(value: Any, way: str) -> Iterator[str]:
    """`NAME spec.podCIDR: 10.244.1.0/24`, each line of a text alone. What has a name goes by that, not by its place."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from leaves(below, f"{way}.{key}" if way and not way.endswith(" ") else f"{way}{key}")
    elif isinstance(value, list) and value:
        for number, below in enumerate(value):
            step = name(below) or f"{number}"
            yield from leaves(below, f"{step} " if way == "items" and name(below) else f"{way}[{step}]")
    else:
        said = value.splitlines() if isinstance(value, str) else [json.dumps(value)]
        yield from (f"{near(way)}: {line.strip()}" for line in said or [""])


def near(way: str) -> str:
    """The name and the last steps of a long way."""
    named, gap, steps = way.rpartition(" ")
    last = ".".join(steps.split(".")[-STEPS:])
    return f"{named}{gap}{last if last == steps else f'…{last}'}"


def name(value: Any) -> str:
    """As Kubernetes names an object, or a part of one."""
    if not isinstance(value, dict):
        return ""
    found = value.get("metadata", value)
    named = found.get("name", "") if isinstance(found, dict) else ""
    return named if isinstance(named, str) else ""
