"""An answer as lines. Of JSON these are its values, each with the way to it."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from gpustack.ask.probe import HEADING, Row

PARTS = re.compile(r"[\s=\"':,;()]+")
NUMBER = re.compile(r"\d\d+")
MINOR = re.compile(r"(\d+\.\d+)\.\d+")
VERSION = re.compile(r"^v(?=\d)")
# Of a line of a log when it was, and who wrote it down: the report says when it asked.
STAMP = re.compile(r'^time="[^"]*" (?=level=)|\b\d{4}-\d\d-\d\dT\S+ std(out|err) [FP] ')
STEPS = 3
"""Of the way to a value that are shown."""
LARGE = 2_000_000
"""Characters of JSON that is not taken apart any more."""


@dataclass(frozen=True)
class Line:
    """Of an answer, with the heading that it stands under: empty where nothing was said, or there is none. `key` is
    what JSON calls the value."""

    text: str = ""
    heading: str = ""
    key: str = ""

    @cached_property
    def words(self) -> set[str]:
        return words(self.text) | words(self.heading) | {self.key}


def words(text: str) -> set[str]:
    """Those that are worth seeking: with the last part of each path, versions without their v and without the last
    number, keys of sysctl as it writes them, no short ones."""
    whole = {VERSION.sub("", word) for word in PARTS.split(text) if len(word) > 2 or NUMBER.fullmatch(word)}
    parts = {last for word in whole if len(last := word.rsplit("/", 1)[-1]) > 2}
    minors = {found[1] for word in whole if (found := MINOR.fullmatch(word))}
    return whole | parts | minors | {word.replace("/", ".") for word in whole if word.startswith("net/")}


def row(line: Line, rows: Sequence[Row]) -> Line:
    """Bare values with what each of them is, where that is known."""
    said = line.text.split()
    for heading, names in rows:
        if heading == line.heading and len(said) == len(names):
            return replace(line, text=", ".join(f"{name} {value}" for name, value in zip(names, said, strict=True)))
    return line


def lines(text: str) -> list[Line]:
    """Without headings and comments."""
    if said := values(text):
        return said
    found, heading = [], ""
    for line in text.splitlines():
        if line.startswith(HEADING):
            heading = line.removeprefix(HEADING)
        elif said := values(line):
            found += [replace(one, heading=heading) for one in said]
        elif line.strip() and not line.startswith("# "):
            found.append(Line(STAMP.sub("", line.strip()), heading))
    return found


def values(text: str) -> list[Line]:
    """Of JSON; empty where it is none."""
    if not text.startswith(("{", "[")) or len(text) > LARGE:
        return []
    try:
        return list(leaves(json.loads(text), ""))
    except (ValueError, RecursionError):
        return []


def leaves(value: Any, way: str) -> Iterator[Line]:
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
        key = way.rpartition(".")[2]
        yield from (Line(f"{near(way)}: {line.strip()}", key=key) for line in said or [""])


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
