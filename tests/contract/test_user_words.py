"""Texts that users read keep to the glossary of CONTRIBUTING.md: its column `not` is refused in messages, hints, help,
pages and documents."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.sources import PRODUCT, ROOT, list_sources
from tests.contract.test_names import GUIDE, list_decorators, read_words

ROW = re.compile(r"^\| [a-z*`, ]+ \|[^|]+\| ([a-z, -]+) \|$", re.MULTILINE)
# Shell, awk, PromQL and patterns are no sentences: what they call things is not printed.
PROGRAM = re.compile(r"\$|\\[bdsSw.]|\|\||^\s*#!|\{\s*print")
# The machine below hosts, and the one that runs gpustack, have no other name, nor have the folders of Grafana.
ACCEPTED_PLACES = re.compile(
    r"`[^`\n]*`|(this|virtual|another|same|which|busy|idle|operator's|building|your) machines?\b|machine-ids?\b"
    r"|machine (that|with) |machine \S+ login|folders? (in Grafana|GPU)"
)
PAGES = [path for path in sorted(PRODUCT.rglob("*.yaml")) if path.parent.name in ("pages", "catalogue")]
DOCUMENTS = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
EXEMPT = {"pages/lab.yaml", "pages/bundle.yaml", "docs/simulated.md", "docs/performance.md"}
"""They are about the machine below the lab's hosts, and the one that builds or measures."""


def build_refused_pattern() -> re.Pattern[str]:
    """Build the pattern of the column `not`, without the words that mean something else as well."""
    phrases = {phrase for row in ROW.findall(GUIDE.partition("### Names")[0]) for phrase in row.split(", ")} - {"not"}
    phrases -= read_words('Words of the column "not" that also mean something else')
    assert {"machine", "question", "wanted", "folder"} <= phrases
    return re.compile(rf"(?i)(?<![\w./-])({'|'.join(sorted(phrases))})s?(?![\w/-])|(?:[,:]|^) found \{{\}}")


REFUSED_WORDS = build_refused_pattern()


def list_refused(text: str) -> list[str]:
    """List the refused words of a text with what stands around them; a phrase may go on in the next line."""
    text = ACCEPTED_PLACES.sub("", " ".join(text.replace("```", "").split()))
    return [text[max(0, match.start() - 40) : match.end() + 20] for match in REFUSED_WORDS.finditer(text)]


def join_parts(node: ast.JoinedStr) -> str:
    return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)


def list_sentences(path: Path) -> Iterator[str]:
    """List the texts of a module that have more than one word: no docstrings but those of commands, and no programs."""
    module = ast.parse(path.read_text())
    parts = {id(part) for node in ast.walk(module) if isinstance(node, ast.JoinedStr) for part in node.values}
    parts |= {
        id(statement.value)
        for node in ast.walk(module)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and not (isinstance(node, ast.FunctionDef) and {"command", "callback"} & list_decorators(node))
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    for node in ast.walk(module):
        match node:
            case ast.JoinedStr():
                text = join_parts(node)
            case ast.Constant(value=str(text)) if id(node) not in parts:
                pass
            case _:
                continue
        if " " in text.strip() and not PROGRAM.search(text):
            yield text


def test_messages_and_help_keep_to_the_glossary() -> None:
    sources = {name: path for name, path in list_sources().items() if not name.startswith("gpustack_lab/")}
    refused_words = {
        name: texts
        for name, path in sources.items()
        if (texts := [text for text in list_sentences(path) if list_refused(text)])
    }
    assert refused_words == {}


@pytest.mark.parametrize("path", [*PAGES, *DOCUMENTS], ids=lambda path: path.name)
def test_pages_and_documents_keep_to_the_glossary(path: Path) -> None:
    if f"{path.parent.name}/{path.name}" in EXEMPT:
        return
    assert [words for text in path.read_text().split("\n\n") for words in list_refused(text)] == []


@pytest.mark.parametrize(
    "text",
    ["vm1: expected 1, found {}", "asking 9 questions to 2 hosts", "the machine rebooted", "a folder", "Peers differ."],
)
def test_a_word_of_the_column_is_refused(text: str) -> None:
    assert list_refused(text)


@pytest.mark.parametrize("text", ["no fault found ({})", "on this machine", "a virtual machine", "/etc/machine-id"])
def test_a_word_of_the_field_is_accepted(text: str) -> None:
    assert list_refused(text) == []
