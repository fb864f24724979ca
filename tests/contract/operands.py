"""Operands of alerts that hide another, or that are joined by too few labels, are read off the expression's tree."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import promql_parser

from tests.contract.promql import list_metrics, read_rules, walk_tree

COMPARISONS = {">", "<", ">=", "<=", "==", "!="}
OF_THE_BOARD = {"gpu", "modelName", "GPU_I_PROFILE"}
"""These labels follow from the UUID and the instance."""
RECORDING = read_rules("gpu-recording.yaml")
Labels = frozenset[str]


def list_operations(expr: str | Any, *operators: str) -> Iterator[Any]:
    """List the operations of an expression by one of these operators."""
    tree = promql_parser.parse(expr) if isinstance(expr, str) else expr
    return (
        node for node in walk_tree(tree) if isinstance(node, promql_parser.BinaryExpr) and str(node.op) in operators
    )


def has_comparison(tree: Any) -> bool:
    return next(list_operations(tree, *COMPARISONS), None) is not None


def find_shared_comparisons(expr: str) -> list[str]:
    """Find the `or` whose operands share the comparison around it.

    `or` takes its right side only where the left side has no sample at all, so a left side of 0 hides the right one."""
    return [
        str(inner)
        for comparison in list_operations(expr, *COMPARISONS)
        for side in (comparison.lhs, comparison.rhs)
        for inner in list_operations(side, "or")
        if not (has_comparison(inner.lhs) and has_comparison(inner.rhs))
    ]


def find_mere_values(expr: str) -> list[str]:
    """Find the operands of `or` that compare nothing: a value that is there, 0 too, makes the alert fire."""
    operations = list_operations(expr, "or")
    return [
        str(side) for operation in operations for side in (operation.lhs, operation.rhs) if not has_comparison(side)
    ]


def find_coarse_exclusions(expr: str) -> set[str]:
    """Find the labels that both sides of an `unless` have and by which it does not join them: the verdict on one thing
    silences that on another."""
    coarse_labels: set[str] = set()
    for operation in list_operations(expr, "unless"):
        matching = operation.modifier.matching if operation.modifier else None
        if matching is not None and str(matching.type).endswith("Include"):
            common_labels = find_labels(operation.lhs) & find_labels(operation.rhs)
            coarse_labels |= common_labels - set(matching.labels) - OF_THE_BOARD
    return coarse_labels


def find_labels(tree: Any) -> Labels:
    """Find the labels of a result, as far as aggregations name them."""
    if isinstance(tree, promql_parser.AggregateExpr):
        return frozenset(tree.modifier.labels) if tree.modifier else frozenset()
    if isinstance(tree, promql_parser.BinaryExpr):
        labels = find_labels(tree.lhs)
        return labels | find_labels(tree.rhs) if str(tree.op) == "or" or not labels else labels
    if isinstance(tree, promql_parser.VectorSelector):
        return find_recorded_labels(tree.name)
    if isinstance(tree, promql_parser.MatrixSelector):
        return find_recorded_labels(tree.vector_selector.name)
    if isinstance(tree, promql_parser.Call):
        set_labels = {tree.args[1].val} if tree.func.name == "label_replace" else set()
        return frozenset(set_labels).union(*map(find_labels, tree.args))
    inner = getattr(tree, "expr", None)
    return frozenset() if inner is None else find_labels(inner)


@cache
def find_recorded_labels(name: str) -> Labels:
    """Find the labels of a recorded name; none of a name that Prometheus stores from a page."""
    rules = [rule for rule in RECORDING if rule["record"] == name]
    return frozenset(
        label for rule in rules for label in (*find_labels(promql_parser.parse(rule["expr"])), *rule.get("labels", {}))
    )


def find_counted_fields(expr: str) -> set[str]:
    """Find the metrics of GPUs, other than the one by which a GPU is heard of, whose series are counted."""
    counts = (node for node in walk_tree(promql_parser.parse(expr)) if isinstance(node, promql_parser.AggregateExpr))
    metrics = {name for count in counts if str(count.op) == "count" for name in list_metrics(count.expr)}
    return {name for name in metrics if name.startswith(("gpustack:gpu_", "DCGM_"))}
