"""The pages of alerts, rendered from the sections of docs/alerts.md."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from textwrap import fill

from gpustack.config.resources import locate_docs
from gpustack.report.explain.width import compute_width, wrap_text

# The alert's annotation `runbook` names its page so; what follows is the heading as a link of the document has it.
PREFIX = "alert-"
HEADING = re.compile(r"(?m)^### (\w+)$")
EMPTY = re.compile(r"[\s|:-]*")


@dataclass(frozen=True)
class Alert:
    """Hold the page of an alert. `text` is Markdown with paragraphs and tables."""

    name: str
    text: str


@cache
def read_alerts() -> Mapping[str, Alert]:
    """Read all pages by their names, such as alert-gpulost. Raise FileNotFoundError where the installation lacks the
    document."""
    document = (locate_docs() / "alerts.md").read_text(encoding="utf-8")
    pages: dict[str, Alert] = {}
    for section in re.split(r"(?m)^(?=##)", document):
        if match := HEADING.match(section):
            pages[PREFIX + match[1].lower()] = Alert(match[1], section[match.end() :].strip())
    return pages


def render_alert(name: str, alert: Alert) -> Iterator[str]:
    yield f"{name}: the alert {alert.name}\n"
    yield "\n\n".join(render_paragraph(text) for text in alert.text.split("\n\n"))
    yield "\nMore\n  gpustack explain alerts\n"


def render_paragraph(text: str) -> str:
    lines = text.splitlines()
    if all(line.startswith("|") for line in lines):
        return "\n".join(render_table(lines))
    return wrap_text(text)


def render_table(lines: list[str]) -> Iterator[str]:
    """Render a table row by row: the first cell, and below it the other cells with the names of their columns."""
    columns, *rows = (parse_cells(line) for line in lines if not EMPTY.fullmatch(line))
    for first, *values in rows:
        yield first
        for column, cell in zip(columns[1:], values, strict=True):
            yield fill(f"{column}: {cell}", compute_width(), initial_indent=" " * 4, subsequent_indent=" " * 6)


def parse_cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]
