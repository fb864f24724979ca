"""The documents of docs/, which an installation has too: pages and help name them, and `gpustack explain`
prints them by their names, as they are."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from gpustack.config.resources import locate_docs
from gpustack.files.read import read_text

FOLDER = "docs/"
NO_WORD = re.compile(r"[^\w-]+")
HAS_PAGES = ("docs/alerts.md", "docs/commands.md", "docs/series.md", "docs/settings.md")
"""Documents whose chapters are pages of their own."""


@cache
def list_documents() -> Mapping[str, str]:
    """List the headings of all documents by name, such as docs/limits.md. Raise FileNotFoundError where the
    installation lacks them."""
    return {f"{FOLDER}{path.name}": read_heading(read_text(path)) for path in sorted(locate_docs().glob("*.md"))}


@cache
def list_chapters() -> Sequence[tuple[str, str]]:
    """List the headings within all documents, each with the name of its document."""
    return [
        (name, line.lstrip("# "))
        for name in list_documents()
        if name not in HAS_PAGES
        for line in read_document(name).splitlines()
        if line.startswith(("## ", "### "))
    ]


def find_lines(words: Sequence[str]) -> list[tuple[str, str]]:
    """Find in each document the first line that has all the words as whole ones, whatever their case."""
    wanted_words = {word.casefold() for word in words}
    matches = (
        next((line for line in read_document(name).splitlines() if wanted_words <= split_words(line)), "")
        for name in list_documents()
    )
    return [(name, line.strip("#|* ")) for name, line in zip(list_documents(), matches, strict=True) if line]


def list_lines() -> Iterator[tuple[str, str]]:
    """List the lines of all documents without the marks of Markdown, each with the name of its document."""
    for name in list_documents():
        yield from ((name, text) for line in read_document(name).splitlines() if (text := line.strip("#|* ")))


def split_words(line: str) -> set[str]:
    return set(NO_WORD.split(line.casefold()))


def read_heading(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ")


def read_document(name: str) -> str:
    """Read a document by its name. Return an empty string where there is none."""
    return read_text(locate_docs() / name.removeprefix(FOLDER)) if name in list_documents() else ""
