"""Docstrings are sentences that can be read without the signature; ruff checks their form (D4 in pyproject.toml)."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.sources import ROOT, list_packages

PLACES = [
    *list_packages(),
    *sorted(path for path in (ROOT / "tests").iterdir() if path.suffix == ".py" or any(path.rglob("*.py"))),
]
# A sentence that begins with one of these continues another one, or answers a question that nobody sees.
REFUSED_WORDS = {
    "what", "of", "by", "those", "with", "one", "whether", "why", "all", "without", "its", "where", "which", "how",
    "as", "in", "none", "each", "every", "our", "for", "from", "until", "only", "also", "and", "it", "not", "no",
    "there", "then", "instead", "above", "below",
}  # fmt: skip
DocumentedNode = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def find_fragments(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, DocumentedNode) and (text := ast.get_docstring(node)):
            first = text.split()[0].strip("`,.:").lower()
            if first in REFUSED_WORDS:
                yield text.splitlines()[0]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: str(place.relative_to(ROOT)))
def test_docstrings_stand_alone(place: Path) -> None:
    paths = [place] if place.is_file() else sorted(place.rglob("*.py"))
    assert [f"{path.relative_to(ROOT)}: {text}" for path in paths for text in find_fragments(path.read_text())] == []


def test_a_fragment_is_found() -> None:
    source = '"""Hosts."""\ndef list_hosts(): "Of the inventory."\ndef read_file(): "Read a file."\n'
    assert list(find_fragments(source)) == ["Of the inventory."]
