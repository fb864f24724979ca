"""The commands, alerts and dashboards that read a field of DCGM, derived from their queries and the recording rules."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from gpustack.config.resources import locate_shipped_values, read_shipped_yaml
from gpustack.files.json_text import load_json
from gpustack.vocabulary.fields import find_fields, find_original

NAME = re.compile(r"\bDCGM_(?:FI|EXP)_[A-Z0-9_]+|\bgpustack:\w+:\w+")
Readers = Mapping[str, Collection[str]]
"""Names of metrics, raw and recorded, by what reads them."""


@dataclass(frozen=True)
class Dependents:
    """Hold what reads a field, each in the order of the alphabet. `dashboards` are their titles."""

    commands: tuple[str, ...] = ()
    alerts: tuple[str, ...] = ()
    dashboards: tuple[str, ...] = ()


def list_dependents(commands: Readers) -> dict[str, Dependents]:
    """List what reads each field, by the field's name. `commands` are the names of metrics that commands query."""
    kinds = [index_by_field(readers) for readers in (commands, load_alerts(), load_dashboards())]
    fields = dict.fromkeys(field for kind in kinds for field in kind)
    return {field: Dependents(*(tuple(sorted(kind.get(field, ()))) for kind in kinds)) for field in fields}


def index_by_field(readers: Readers) -> dict[str, set[str]]:
    index: dict[str, set[str]] = {}
    for reader, names in readers.items():
        for field in list_source_fields(names):
            index.setdefault(field, set()).add(reader)
    return index


def list_source_fields(names: Iterable[str]) -> Iterator[str]:
    """List the fields from which metrics are made, whatever the number of rules between them."""
    pending_names, visited_names = list(names), set(names)
    while pending_names:
        name = pending_names.pop()
        if fields := find_fields(name):
            yield find_original(fields[0]).name
        sources = load_recorded().get(name, frozenset()) - visited_names
        visited_names |= sources
        pending_names += sources


def load_rules(file: str, key: str) -> dict[str, frozenset[str]]:
    """Load the names of metrics in the expressions of rules, by the name of the rule; several rules may have one."""
    names: dict[str, frozenset[str]] = {}
    for group in read_shipped_yaml(locate_shipped_values() / "rules" / file)["groups"]:
        for rule in group["rules"]:
            names[rule[key]] = names.get(rule[key], frozenset()) | frozenset(NAME.findall(rule["expr"]))
    return names


@cache
def load_recorded() -> Mapping[str, frozenset[str]]:
    return load_rules("gpu-recording.yaml", "record")


@cache
def load_alerts() -> Mapping[str, frozenset[str]]:
    return load_rules("gpu-alerts.yaml", "alert")


@cache
def load_dashboards() -> Mapping[str, frozenset[str]]:
    files = sorted((locate_shipped_values() / "dashboards").glob("*.json"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    return {str(load_json(text)["title"]): frozenset(NAME.findall(text)) for text in texts}
