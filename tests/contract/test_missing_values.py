"""A value that is missing is unknown, and no 0: what reads metrics writes no 0 for it, and makes no reading itself."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import get_type_hints

import pytest

from gpustack.metrics.readings import Reading
from tests.contract.sources import PRODUCT

LAYER = "metrics"
READERS = ("gpustack.metrics", "gpustack.gpus", "gpustack.profile", "gpustack.capacity", "gpustack.forecast")
"""The layer that reads metrics, and packages whose numbers come from it."""


def list_modules() -> Iterator[Path]:
    """List the modules of each package that imports one of READERS, but for the layer itself."""
    for package in sorted(path for path in PRODUCT.iterdir() if path.is_dir() and path.name != LAYER):
        paths = sorted(package.rglob("*.py"))
        if any(f"from {reader}" in path.read_text() for path in paths for reader in READERS):
            yield from paths


def is_zero(node: ast.expr) -> bool:
    """Tell whether an expression is 0, or a list of zeros that stands for one without values."""
    if isinstance(node, ast.List | ast.Tuple):
        return bool(node.elts) and all(map(is_zero, node.elts))
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value == 0


def is_none_test(node: ast.expr) -> bool:
    return isinstance(node, ast.Compare) and any(
        isinstance(side, ast.Constant) and side.value is None for side in node.comparators
    )


def is_zero_for_missing(node: ast.AST) -> bool:
    """Tell whether a node is one of these: `x or 0`, `0 if x is None else x`, `next(xs, 0)`, and `xs.get("name", 0)`. A
    `get` of another key is of a sum that grows, such as the hours of a namespace."""
    match node:
        case ast.BoolOp(op=ast.Or(), values=[*_, last]):
            return is_zero(last)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return is_none_test(test) and (is_zero(body) or is_zero(orelse))
        case ast.Call(func=ast.Name(id="next"), args=[_, default]):
            return is_zero(default)
        case ast.Call(func=ast.Attribute(attr="get"), args=[ast.Constant(), default]):
            return is_zero(default)
    return False


def find_zeros(text: str) -> list[str]:
    return [ast.unparse(node) for node in ast.walk(ast.parse(text)) if is_zero_for_missing(node)]


def test_no_reader_of_metrics_writes_zero_for_what_is_missing() -> None:
    modules = list(list_modules())
    assert {"burn", "capacity", "cost", "forecast", "gpus", "profile", "proof", "report", "serve"} <= {
        module.relative_to(PRODUCT).parts[0] for module in modules
    }
    zeros_by_module = {str(module.relative_to(PRODUCT)): find_zeros(module.read_text()) for module in modules}
    assert {name: zeros for name, zeros in zeros_by_module.items() if zeros} == {}


@pytest.mark.parametrize(
    "text",
    [
        "share = power / limit if (signals.engine or 0.0) > 0.1 else None",
        "mean = fmean(errors or [0.0])",
        "hours = 0 if hours is None else hours",
        "hours = hours if hours is not None else 0.0",
        "first = next((peak for peak in peaks if peak is not None), 0.0)",
        'hot = means.get("temperature", 0.0) > hottest',
    ],
)
def test_each_way_to_write_zero_is_found(text: str) -> None:
    assert len(find_zeros(text)) == 1


@pytest.mark.parametrize(
    "text",
    ["sums[name] = sums.get(name, 0.0) + hours", "least = limit or 1", "share = part / whole if whole else None"],
)
def test_sums_and_other_defaults_are_not_refused(text: str) -> None:
    assert find_zeros(text) == []


def test_a_reading_has_a_number_and_is_made_where_metrics_are_read() -> None:
    """A mapping without the reading is what says that it is unknown, so that mypy wants the question before `value`."""
    hints = get_type_hints(Reading)
    assert (hints["value"], hints["unit"]) == (float, str)
    makers = [
        str(module.relative_to(PRODUCT))
        for module in list_modules()
        if "gpustack.metrics.readings" in module.read_text()
        for node in ast.walk(ast.parse(module.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("Reading", "readings.Reading")
    ]
    assert makers == []
