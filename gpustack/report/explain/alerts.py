"""The pages of alerts: sections of docs/alerts.md, which is their one source, at 80 columns."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from textwrap import fill

from gpustack.config.resources import docs

# The alert's annotation `runbook` names its page so; what follows is the heading as a link of the document has it.
PREFIX = "alert-"
WIDTH = 80
HEADING = re.compile(r"(?m)^### (\w+)$")
EMPTY = re.compile(r"[\s|:-]*")


@dataclass(frozen=True)
class Alert:
    """`text` is Markdown: paragraphs and tables."""

    name: str
    text: str


@cache
def alerts() -> Mapping[str, Alert]:
    """By the name of the page: alert-gpulost. Raises FileNotFoundError when the installation lacks the document."""
    whole = (docs() / "alerts.md").read_text()
    found: dict[str, Alert] = {}
    for part in re.split(r"(?m)^(?=##)", whole):
        if match := HEADING.match(part):
            found[PREFIX + match[1].lower()] = Alert(match[1], part[match.end() :].strip())
    return found


def of_alert(name: str, alert: Alert) -> Iterator[str]:
    yield f"{name}: the alert {alert.name}\n"
    yield "\n\n".join(paragraph(text) for text in alert.text.split("\n\n"))
    yield "\nMore\n  gpustack explain alerts\n"


def paragraph(text: str) -> str:
    lines = text.splitlines()
    if all(line.startswith("|") for line in lines):
        return "\n".join(table(lines))
    return fill(text, WIDTH, break_long_words=False, break_on_hyphens=False)


def table(lines: list[str]) -> Iterator[str]:
    """Row by row: what stands first, below it the other cells with the name of their column."""
    columns, *rows = (cells(line) for line in lines if not EMPTY.fullmatch(line))
    for first, *others in rows:
        yield first
        for column, cell in zip(columns[1:], others, strict=True):
            yield fill(f"{column}: {cell}", WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 6)


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]
