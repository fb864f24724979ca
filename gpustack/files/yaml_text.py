"""Parse YAML that others wrote, within the bounds of a document.

The expansion of aliases is counted while the document is composed: a few lines of aliases stand for gigabytes.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

from gpustack.files.document import (
    ALIAS_LIMIT,
    DEPTH_LIMIT,
    UNREADABLE,
    VALUE_LIMIT,
    YAML_TEXT_LIMIT,
    DocumentError,
    LimitError,
    refuse_values,
)

MERGE = "tag:yaml.org,2002:merge"
DATE = "tag:yaml.org,2002:timestamp"
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
NUMBER_TEXT = 64
"""Characters of a number. YAML 1.1 has numbers to the base 60 (`1:30:00`), which take quadratic time to read."""


@dataclass(frozen=True)
class Rules:
    """Hold the rules of a parser. `aliases` are allowed within EXPANDED, `tags` of others (Ansible's `!vault`) are read
    as null, dates are texts without `dates`, `unique` refuses a duplicate key, and `plain` a value that JSON cannot
    carry."""

    aliases: bool = False
    tags: bool = False
    dates: bool = True
    unique: bool = False
    plain: bool = True


STRICT = Rules()
"""The rules for what hosts print and for files that somebody sent."""


def parse_yaml(text: str, rules: Rules = STRICT) -> Any:
    """Return the one document of a text, None for an empty one. Raise DocumentError."""
    document = load_document(text, rules, "get_single_data")
    if rules.plain:
        refuse_values(document)
    return document


def compose_yaml(text: str, rules: Rules = STRICT) -> Any:
    """Return the node of the one document of a text, with the positions of its keys and values. Raise
    DocumentError."""
    return load_document(text, rules, "get_single_node")


def load_document(text: str, rules: Rules, method: str) -> Any:
    import yaml

    if len(text) > YAML_TEXT_LIMIT:
        raise LimitError(f"longer than {YAML_TEXT_LIMIT} characters")
    try:
        return getattr(build_loader(rules)(text), method)()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise DocumentError(str(error.problem), *((mark.line + 1, mark.column + 1) if mark else ())) from error
    except yaml.YAMLError as error:
        raise DocumentError(" ".join(str(error).split())) from error
    except DocumentError:
        raise
    except UNREADABLE as error:
        raise DocumentError(str(error)) from error


class Counting:
    """Count the nodes that a loader composes, before it calls itself for the next level."""

    rules: Rules
    alias: Any
    peek_event: Any
    anchors: Any

    def __init__(self) -> None:
        self.depth = self.nodes = self.expanded = 0
        self.weights: dict[str, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        position = event.start_mark.line + 1, event.start_mark.column + 1
        if isinstance(event, self.alias):
            self.count_alias(event.anchor, position)
            return super().compose_node(parent, index)  # type: ignore[misc]
        before = self.nodes
        self.nodes, self.depth = self.nodes + 1, self.depth + 1
        if self.depth > DEPTH_LIMIT:
            raise LimitError(f"more than {DEPTH_LIMIT} levels", *position)
        if self.nodes > VALUE_LIMIT:
            raise LimitError(f"more than {VALUE_LIMIT} values", *position)
        node = super().compose_node(parent, index)  # type: ignore[misc]
        if node.tag in NUMBERS and len(node.value) > NUMBER_TEXT:
            raise LimitError(f"a number of more than {NUMBER_TEXT} characters", *position)
        self.depth -= 1
        if event.anchor:
            self.weights[event.anchor] = self.nodes - before
        return node

    def count_alias(self, name: str, position: tuple[int, int]) -> None:
        if not self.rules.aliases:
            raise LimitError(f"the alias *{name}; aliases are not read here", *position)
        weight = self.weights.get(name)
        if weight is None and name in self.anchors:
            raise LimitError(f"the alias *{name} within what it stands for", *position)
        self.nodes += weight or 0
        self.expanded += weight or 0
        if self.expanded > ALIAS_LIMIT:
            raise LimitError(f"aliases that stand for more than {ALIAS_LIMIT} values", *position)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT001, FBT002
        if self.rules.unique:
            refuse_duplicates(node)
        return super().construct_mapping(node, deep=deep)  # type: ignore[misc]


@cache
def build_loader(loader_rules: Rules) -> Any:
    """Return a class of loaders: the parser of libyaml where there is one, as Ansible and Helm have it."""
    import yaml
    from yaml.composer import Composer

    # CSafeLoader composes in C, where nothing is counted: with Composer before it, it does not.
    bases: Any = (Counting, Composer, yaml.CSafeLoader) if yaml.__with_libyaml__ else (Counting, yaml.SafeLoader)

    class Loader(*bases):  # type: ignore[misc]
        rules, alias = loader_rules, yaml.AliasEvent

        def __init__(self, stream: str) -> None:
            bases[-1].__init__(self, stream)
            Composer.__init__(self)
            Counting.__init__(self)

    if loader_rules.tags:
        Loader.add_multi_constructor("!", lambda loader, suffix, node: None)
    if not loader_rules.dates:
        Loader.yaml_implicit_resolvers = {
            first: [(tag, pattern) for tag, pattern in resolvers if tag != DATE]
            for first, resolvers in Loader.yaml_implicit_resolvers.items()
        }
    return Loader


def refuse_duplicates(node: Any) -> None:
    """Raise DocumentError for a mapping with a duplicate key; merge keys may repeat."""
    lines: dict[str, int] = {}
    for key, _ in node.value:
        line = key.start_mark.line + 1
        if str(key.value) in lines and key.tag != MERGE:
            reason = f"`{key.value}` is given twice, first in line {lines[str(key.value)]}"
            raise DocumentError(reason, line, key.start_mark.column + 1)
        lines[str(key.value)] = line


def parse_shipped(text: str) -> Any:
    """Return a document that is part of this program, with the fastest parser."""
    import yaml

    return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506 - both are safe
