"""Docstrings are sentences that can be read without the signature; ruff checks their form (D4 in pyproject.toml)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.sources import ROOT, list_packages

PLACES = [*list_packages(), ROOT / "tests" / "worlds"]

# A sentence that begins with one of these continues another one, or answers a question that nobody sees.
REFUSED = {
    "what", "of", "by", "those", "with", "one", "whether", "why", "all", "without", "its", "where", "which", "how",
    "as", "in", "none", "each", "every", "our", "for", "from", "until", "only", "also", "and", "it", "not", "no",
    "there", "then", "instead", "above", "below",
}  # fmt: skip
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def find_fragments(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, Documented) and (text := ast.get_docstring(node)):
            first = text.split()[0].strip("`,.:").lower()
            if first in REFUSED:
                yield f"{path.relative_to(ROOT)}: {text.splitlines()[0]}"


@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place.relative_to(ROOT)))
def test_docstrings_stand_alone(place: Path) -> None:
    paths = [place] if place.is_file() else sorted(place.rglob("*.py"))
    assert [fragment for path in paths for fragment in find_fragments(path)] == []
