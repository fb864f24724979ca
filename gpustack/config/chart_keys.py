"""Which keys a Helm chart knows. Helm silently ignores all others, so they are reported before it runs.

The lists in gpustack/versions/charts are facts derived from the values.yaml of the real charts by scripts/chart-keys,
each with source, commit and hash in its first lines.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from gpustack.config.complaint import Complaint, nearest
from gpustack.config.versions import VERSIONS

CHARTS = VERSIONS / "charts"
ENDINGS: dict[str, "Kind"] = {".*": "free", "[]": "list", "?": "any", "": "value"}
LINE = re.compile(r"(.+?)(\.\*|\[\]|\?|)")

Kind = Literal["map", "free", "list", "value", "any"]


@dataclass
class Key:
    """Of a map the keys are known, of one that is free they are the user's; `any` is a key of unknown kind."""

    kind: Kind = "map"
    children: dict[str, "Key"] = field(default_factory=dict)


@cache
def keys_of(chart: str) -> Key:
    """`chart` is name and version, such as kube-prometheus-stack-88.5.3. Raises FileNotFoundError for another."""
    return parsed((CHARTS / f"{chart}.keys").read_text())


def parsed(text: str) -> Key:
    """Raises ValueError for a line that says nothing."""
    root = Key()
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if not match:
            raise ValueError(f"no key: {line!r}")
        place = root
        for part in re.split(r"(?<!\\)\.", match[1]):
            place = place.children.setdefault(part.replace("\\.", "."), Key())
        place.kind = ENDINGS[match[2]]
    return root


def judged(file: str, chart: str, values: Mapping[str, Any]) -> list[Complaint]:
    """Every key in `values` that the chart does not know, or knows as something else. Null deletes, and is right."""
    root = keys_of(chart)
    return [
        complaint
        for path, known, value in strange(root, values)
        for complaint in [complain(file, chart, root, path, known, value)]
    ]


def strange(known: Key, value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Key | None, Any]]:
    """(path, what is known of it, value) of the topmost keys that are wrong."""
    for name, inner in value.items():
        here, below = (*path, str(name)), known.children.get(str(name))
        if below is None:
            yield here, None, inner
        elif inner is None or below.kind == "any":
            continue
        elif below.kind in ("map", "free"):
            if not isinstance(inner, Mapping):
                yield here, below, inner
            elif below.kind == "map":
                yield from strange(below, inner, here)
        elif isinstance(inner, Mapping):
            yield here, below, inner


def complain(file: str, chart: str, root: Key, path: tuple[str, ...], known: Key | None, value: Any) -> Complaint:
    key = dotted(path)
    if known is None:
        allowed = f"keys of the chart {chart}; Helm would ignore this one"
        return Complaint(file, key, "an unknown key", allowed, "values-key-unknown", likely(root, path))
    allowed = {"list": "a list", "value": "a single value"}.get(known.kind, "a mapping")
    return Complaint(file, key, shape(value), allowed, "values-shape")


def likely(root: Key, path: tuple[str, ...]) -> str:
    """The sibling that looks most like it, else the only place of the chart where a key of this name stands."""
    place = root
    for part in path[:-1]:
        place = place.children[part]
    if close := nearest(path[-1], list(place.children)):
        return dotted((*path[:-1], close))
    elsewhere = [found for found in everything(root) if found[-1] == path[-1]]
    return dotted(elsewhere[0]) if len(elsewhere) == 1 else ""


def everything(key: Key, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, below in key.children.items():
        yield (*path, name)
        yield from everything(below, (*path, name))


def dotted(path: tuple[str, ...]) -> str:
    return ".".join(part.replace(".", "\\.") for part in path)


def shape(value: Any) -> str:
    return "a list" if isinstance(value, list) else "a mapping" if isinstance(value, Mapping) else repr(value)
