"""Every reference that an error carries is an id, and has a page that `gpustack explain` can print."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

PACKAGE = Path(__file__).parents[2] / "gpustack"
PAGES = PACKAGE / "pages"
# What takes a reference, and at which place.
CARRIERS = {"Complaint": 4, "ConfigError": 0, "UsageError": 0, "UnreachableError": 0, "RolloutError": 0,
            "VerifyError": 0, "LockedError": 0, "LabError": 0, "BundleError": 0, "GpustackError": 0}  # fmt: skip


def pages() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(PAGES.glob("*.yaml")):
        entries = yaml.safe_load(path.read_text()) or {}
        twice = set(found) & set(entries)
        assert not twice, f"{path.name} explains again: {sorted(twice)}"
        found |= entries
    return found


def references() -> Iterator[tuple[str, str]]:
    """(where, reference) of every error and complaint whose reference is written out in the code."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and (name := called(node)) in CARRIERS:
                named = [word.value for word in node.keywords if word.arg == "reference"]
                for value in named or node.args[CARRIERS[name] : CARRIERS[name] + 1]:
                    if isinstance(value, ast.Constant):
                        yield f"{path.relative_to(PACKAGE)}:{node.lineno}", str(value.value)


def called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def test_the_code_carries_references() -> None:
    assert len(list(references())) > 20


def test_references_are_kebab_case() -> None:
    odd = [(where, name) for where, name in references() if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name)]
    assert odd == []


def test_every_reference_has_a_page() -> None:
    known = pages()
    assert [(where, name) for where, name in references() if name not in known] == []
