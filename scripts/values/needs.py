"""Resolve what each alert needs so that it can fire: the source fields of its expression, through all recording rules.

`or` needs one of its sides, `unless` its left one, `absent` nothing, and everything else each of its operands. The
result has the alternatives of an alert, each a set of words. A word is a field of DCGM by the name that all exporters
until 4.8 give it, a metric of another program, a label of such a metric (`kube_node_labels{label_team}`), or a label of
the exporter's series: `{pod}`, `{GPU_I_ID}`, `{node}`, `{UUID}`, `{modelName}`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, reduce
from typing import Any

import promql_parser

from gpustack.config.resources import locate_shipped_values, read_shipped_yaml
from gpustack.vocabulary.alert_needs import TARGET_SERIES
from gpustack.vocabulary.fields import find_fields, find_original

Needs = frozenset[frozenset[str]]
Matcher = tuple[str, str, str]
"""A label, the operator in promql_parser's words, and a value."""
Matchers = tuple[Matcher, ...]
NO_NEEDS: Needs = frozenset({frozenset()})
RECORD_PREFIX = "gpustack:"
OPTIONAL_LABELS = {
    "workload_pod": "{pod}",
    "exported_pod": "{pod}",
    "GPU_I_ID": "{GPU_I_ID}",
    "UUID": "{UUID}",
    "modelName": "{modelName}",
    "driver": "DCGM_FI_DRIVER_VERSION",
}
"""Labels that a GPU's series may lack, with their words."""
MEASURED_ALONE = {
    "gpustack:gpu_activity_contradiction:bool": ("gpustack:gpu_utilisation:ratio", "DCGM_FI_DEV_GPU_UTIL")
}
"""The first, in the rule of that name, is the second alone: elsewhere the engine stands for it, which never contradicts
itself."""
HEAD = """\
# What each alert needs to fire: alternatives, separated by `|`, of fields and labels that are needed together, joined
# by `&`.
# Written by `make values` from values/rules (scripts/values/needs.py).
"""


def render_alert_needs() -> str:
    lines = [f"{alert},{format_needs(needs)}" for alert, needs in sorted(build_alert_needs().items())]
    return "\n".join([HEAD + "alert,needs", *lines, ""])


def format_needs(needs: Needs) -> str:
    return " | ".join(sorted(" & ".join(sorted(words)) for words in needs))


def build_alert_needs() -> dict[str, Needs]:
    """Build the alternatives of each alert by its name. An alert of several rules can fire when one of them can."""
    needs: dict[str, Needs] = {}
    for rule in list_rules("gpu-alerts.yaml"):
        needs[rule["alert"]] = drop_covered_sets(needs.get(rule["alert"], frozenset()) | parse_needs(rule["expr"]))
    return needs


def list_rules(file: str) -> list[dict[str, Any]]:
    groups = read_shipped_yaml(locate_shipped_values() / "rules" / file)["groups"]
    return [rule for group in groups for rule in group["rules"]]


@cache
def index_recorded() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Index the recording rules by the name that they record."""
    index: dict[str, list[Mapping[str, Any]]] = {}
    for rule in list_rules("gpu-recording.yaml"):
        expr = rule["expr"].replace(*MEASURED_ALONE.get(rule["record"], ("", "")))
        index.setdefault(rule["record"], []).append({**rule, "expr": expr})
    return index


@cache
def parse_needs(expr: str, outer: Matchers = ()) -> Needs:
    """Parse the alternatives of an expression. `outer` are matchers on labels that some rule sets, from the selectors
    of what the expression records."""
    return find_needs(promql_parser.parse(expr), outer)


def find_needs(tree: Any, outer: Matchers) -> Needs:
    if isinstance(tree, promql_parser.BinaryExpr):
        return find_binary_needs(tree, outer)
    if isinstance(tree, promql_parser.VectorSelector):
        return find_selector_needs(tree, outer)
    if isinstance(tree, promql_parser.MatrixSelector):
        return find_selector_needs(tree.vector_selector, outer)
    if isinstance(tree, promql_parser.Call):
        if tree.func.name.startswith("absent"):
            return NO_NEEDS
        return reduce(combine, (find_needs(argument, outer) for argument in tree.args), NO_NEEDS)
    inner = getattr(tree, "expr", None)
    return NO_NEEDS if inner is None else find_needs(inner, outer)


def find_binary_needs(tree: Any, outer: Matchers) -> Needs:
    operator = str(tree.op)
    left_needs = find_needs(tree.lhs, outer)
    if operator == "unless":
        return left_needs
    right_needs = find_needs(tree.rhs, outer)
    if operator == "or":
        return drop_covered_sets(left_needs | right_needs)
    matching = tree.modifier.matching if tree.modifier else None
    labels = matching.labels if matching is not None and str(matching.type).endswith("Include") else ()
    joined_needs = combine(left_needs, right_needs)
    words = frozenset(list_joined_words(tree, labels))
    return frozenset(
        alternative | words | ({"{node}"} if "node" in labels and is_of_both(alternative) else frozenset())
        for alternative in joined_needs
    )


def list_joined_words(tree: Any, labels: Sequence[str]) -> Iterator[str]:
    """List the labels that targets must have, so that a series of them is joined with another."""
    for side in (tree.lhs, tree.rhs):
        if isinstance(side, promql_parser.VectorSelector) and side.name in TARGET_SERIES:
            yield from (f"{side.name}{{{label}}}" for label in labels)


def is_of_both(words: Iterable[str]) -> bool:
    """Tell whether series of the exporter and of another program are joined."""
    return len({word.startswith("DCGM_") for word in words if word[0] != "{"}) == 2


def find_selector_needs(selector: Any, outer: Matchers) -> Needs:
    matchers = tuple((matcher.name, str(matcher.op), matcher.value) for matcher in selector.matchers.matchers)
    if selector.name.startswith(RECORD_PREFIX):
        rules = index_recorded().get(selector.name, ())
        inner = tuple(dict.fromkeys((*outer, *(matcher for matcher in matchers if matcher[0] in list_set_labels()))))
        needs = frozenset[frozenset[str]]().union(
            *(
                parse_needs(rule["expr"], tuple(matcher for matcher in inner if matcher[0] not in labels))
                for rule in rules
                for labels in (rule.get("labels", {}),)
                if all(accepts(matcher, labels[matcher[0]]) for matcher in inner if matcher[0] in labels)
            )
        )
    else:
        fields = find_fields(selector.name)
        needs = frozenset({frozenset({find_original(fields[0]).name if fields else selector.name})})
    words = frozenset(list_label_words(selector.name, matchers))
    return drop_covered_sets(frozenset(alternative | words for alternative in needs))


@cache
def list_set_labels() -> frozenset[str]:
    """List the labels that recording rules set, so that one name has several rules."""
    return frozenset(label for rules in index_recorded().values() for rule in rules for label in rule.get("labels", {}))


def accepts(matcher: Matcher, value: str) -> bool:
    """Tell whether a matcher accepts a value; an empty one is that of a label that is not there."""
    _, operator, pattern = matcher
    is_equal = bool(re.fullmatch(pattern, value)) if "Re" in operator else value == pattern
    return is_equal != ("Not" in operator)


def list_label_words(name: str, matchers: Matchers) -> Iterator[str]:
    for matcher in matchers:
        label = matcher[0]
        if accepts(matcher, ""):
            continue
        if label in OPTIONAL_LABELS:
            yield OPTIONAL_LABELS[label]
        elif label.startswith("label_"):
            yield f"{name}{{{label}}}"


def combine(first: Needs, second: Needs) -> Needs:
    return drop_covered_sets(frozenset(first_words | second_words for first_words in first for second_words in second))


def drop_covered_sets(needs: Needs) -> Needs:
    """Leave out what a smaller alternative covers."""
    return frozenset(words for words in needs if not any(subset < words for subset in needs))
