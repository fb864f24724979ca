"""An expression that reads what a host or the API says takes a time that grows with the text and no faster: at most a
second for 256 KiB of inputs that are made of its own characters."""

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import gpustack
from tests.contract.hostile_inputs import build_seeds, find_slow

ROOT = Path(gpustack.__file__).parent
# Their text is the operator's own, or a release's: short, and nobody's who would slow the operator down.
OWN_SCRIPTS = {
    "gpustack.config": "the inventory, values and dashboards of the operator; loaded with a most in bytes",
    "gpustack.capacity.raw_rules": "queries of the release",
    "gpustack.metrics.readings": "descriptions of fields, of the release",
    "gpustack.report.explain": "pages of the release",
    "gpustack.remedy.commands": "commands of the release's catalogue",
    "gpustack.ask.redact": "test_linear_redaction.py, with the work that uses them",
}
SEARCHES = {"search", "sub", "subn", "split", "findall", "finditer"}
METHODS = {"match", "fullmatch", *SEARCHES}


def list_modules() -> Iterator[str]:
    for module in pkgutil.walk_packages([str(ROOT)], "gpustack."):
        if not any(f"{module.name}.".startswith(f"{name}.") for name in OWN_SCRIPTS) and "__main__" not in module.name:
            yield module.name


def list_uses(tree: ast.AST) -> dict[str, set[str]]:
    """Return by name of a variable which methods of it are called or handed on."""
    uses: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses.setdefault(node.value.id, set()).add(node.attr)
    return uses


def list_literals(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """List each expression that is given to a function of `re`, and the function."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or not node.args:
            continue
        first, owner = node.args[0], node.func.value
        if isinstance(owner, ast.Name) and owner.id == "re" and isinstance(first, ast.Constant):
            yield str(first.value), node.func.attr


def collect() -> dict[str, tuple[re.Pattern[str], frozenset[str]]]:
    """Return every expression by its place, and the methods of it that are used, of its own module first."""
    patterns: dict[str, tuple[re.Pattern[str], frozenset[str]]] = {}
    trees = {name: ast.parse(Path(importlib.import_module(name).__file__ or "").read_text()) for name in list_modules()}
    uses = {name: list_uses(tree) for name, tree in trees.items()}
    for name, tree in trees.items():
        for variable, value in vars(importlib.import_module(name)).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                values = uses[name].get(variable) or set().union(
                    *(assignments.get(variable, set()) for assignments in uses.values())
                )
                patterns[f"{name}.{variable}"] = value, frozenset(values & METHODS or METHODS)
        for text, function in list_literals(tree):
            if function in METHODS:
                patterns[f"{name}: {text}"] = re.compile(text), frozenset({function})
    return patterns


PATTERNS = collect()


def test_expressions_were_found() -> None:
    assert len(PATTERNS) > 100
    assert set(OWN_SCRIPTS) <= {module.name for module in pkgutil.walk_packages([str(ROOT)], "gpustack.")}


@pytest.mark.parametrize("place", PATTERNS)
def test_each_expression_is_linear(place: str) -> None:
    pattern, methods = PATTERNS[place]

    def apply_pattern(text: str) -> None:
        for method in {"finditer" if method in SEARCHES else method for method in methods}:
            if method == "finditer":
                pattern.sub("", text)
            else:
                getattr(pattern, method)(text)

    assert find_slow(apply_pattern, build_seeds(pattern, max_count=60), ends=("\x00",)) == []
