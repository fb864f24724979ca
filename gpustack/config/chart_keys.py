"""The keys that a Helm chart knows. Helm silently ignores all others, so they are reported before it runs.

The lists in gpustack/versions/charts are derived from the values.yaml of the real charts by scripts/chart-keys, each
with source, commit and hash in its first lines.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from gpustack.config.complaint import Complaint, find_nearest
from gpustack.config.versions import VERSIONS

CHARTS = VERSIONS / "charts"
ENDINGS: dict[str, "Kind"] = {".*": "free", "[]": "list", "?": "any", "": "value"}
LINE = re.compile(r"(.+?)(\.\*|\[\]|\?|)")
DOT = re.compile(r"(?<!\\)\.")

Kind = Literal["map", "free", "list", "value", "any"]


@dataclass
class Key:
    """Describe a key of a chart. A map has known `children`, a free one has those of the user, and `any` is of unknown
    kind."""

    kind: Kind = "map"
    children: dict[str, "Key"] = field(default_factory=dict)


@cache
def read_chart_keys(chart: str) -> Key:
    """Read the keys of a chart. `chart` is name and version, such as kube-prometheus-stack-88.5.3. Raise
    FileNotFoundError for another."""
    return parse_keys((CHARTS / f"{chart}.keys").read_text(encoding="utf-8"))


def parse_keys(text: str) -> Key:
    """Parse a list of keys. Raise ValueError for a line that is none."""
    root = Key()
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if not match:
            raise ValueError(f"no key: {line!r}")
        place = root
        for part in DOT.split(match[1]):
            place = place.children.setdefault(part.replace("\\.", "."), Key())
        place.kind = ENDINGS[match[2]]
    return root


def judge_values(file: str, chart: str, values: Mapping[str, Any]) -> list[Complaint]:
    """Return a complaint for every key in `values` that the chart does not know, or knows as something else. Null
    deletes a key, and is right."""
    root = read_chart_keys(chart)
    return [
        complaint
        for path, known_key, value in find_strange_keys(root, values)
        for complaint in [build_complaint(file, chart, root, path, known_key, value)]
    ]


def find_strange_keys(
    known_key: Key, value: Any, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Key | None, Any]]:
    """Find the topmost keys that are wrong, as (path, the known key or None, value)."""
    for name, inner in value.items():
        key_path, child_key = (*path, str(name)), known_key.children.get(str(name))
        if child_key is None:
            yield key_path, None, inner
        elif inner is None or child_key.kind == "any":
            continue
        elif child_key.kind in ("map", "free"):
            if not isinstance(inner, Mapping):
                yield key_path, child_key, inner
            elif child_key.kind == "map":
                yield from find_strange_keys(child_key, inner, key_path)
        elif isinstance(inner, Mapping):
            yield key_path, child_key, inner


def build_complaint(
    file: str, chart: str, root: Key, path: tuple[str, ...], known_key: Key | None, value: Any
) -> Complaint:
    key = join_path(path)
    if known_key is None:
        rule = f"keys of the chart {chart}; Helm would ignore this one"
        return Complaint(file, key, "an unknown key", rule, "values-key-unknown", find_likely_key(root, path))
    rule = {"list": "a list", "value": "a single value"}.get(known_key.kind, "a mapping")
    return Complaint(file, key, describe_shape(value), rule, "values-shape")


def find_likely_key(root: Key, path: tuple[str, ...]) -> str:
    """Find the sibling that looks most like the key, or the only place of the chart with a key of this name."""
    place = root
    for part in path[:-1]:
        place = place.children[part]
    if close := find_nearest(path[-1], list(place.children)):
        return join_path((*path[:-1], close))
    matches = [key_path for key_path in list_key_paths(root) if key_path[-1] == path[-1]]
    return join_path(matches[0]) if len(matches) == 1 else ""


def list_key_paths(key: Key, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, child_key in key.children.items():
        yield (*path, name)
        yield from list_key_paths(child_key, (*path, name))


def join_path(path: tuple[str, ...]) -> str:
    return ".".join(part.replace(".", "\\.") for part in path)


def describe_shape(value: Any) -> str:
    return "a list" if isinstance(value, list) else "a mapping" if isinstance(value, Mapping) else repr(value)
