"""Metrics of an exporter, which it prints in Prometheus' text format.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from gpustack.ask.message import shorten_message
from gpustack.command import Command
from gpustack.errors import UnreachableError
from gpustack.metrics.prometheus import Series
from gpustack.metrics.web import Web

NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*")
# Series of one family have these endings, if its TYPE is histogram, summary or counter.
ENDINGS = ("_bucket", "_sum", "_count", "_total", "_created")
ROW_ERRORS = (ValueError, IndexError, OverflowError)  # of the parser, for a row that Prometheus refuses
LONGEST = 60  # characters of a row that a message has


@dataclass(frozen=True)
class Family:
    """Hold a metric with its series. `kind` is the type (TYPE) and `help` the help text (HELP) that the exporter gives
    it."""

    name: str
    kind: str
    help: str
    series: tuple[Series, ...]


@dataclass(frozen=True)
class Page:
    """Hold all metrics of an exporter. `refused_rows` are the rows for which Prometheus refuses the whole page, and
    `late_types` the TYPE lines that come after series of their metric or twice; each as the metric and the line."""

    families: tuple[Family, ...]
    refused_rows: tuple[str, ...] = ()
    late_types: tuple[str, ...] = ()


@dataclass
class Rows:
    """Hold the rows of a metric, in the order in which a parser wants them: TYPE and HELP come before the series."""

    kind: str = ""
    help: str = ""
    series: list[tuple[int, str]] = field(default_factory=list)

    def list_lines(self) -> list[str]:
        return [*filter(None, (self.help, self.kind)), *(line for _, line in self.series)]


def fetch_families(web: Web) -> tuple[Family, ...]:
    """Fetch all metrics of an exporter. The format gives values no time, so it is 0. Raise UnreachableError where the
    answer is no exposition, and where Prometheus would refuse it."""
    page = fetch_page(web)
    if page.refused_rows:
        raise refuse_answer(web, page.refused_rows[0])
    return page.families


def fetch_page(web: Web) -> Page:
    """Fetch all metrics of an exporter, and the rows that are not of the format. Raise UnreachableError where the
    answer is no exposition."""
    url = web.access.url
    status, content = web.ask(url)
    if status != HTTPStatus.OK:
        hint = Command("curl", "-sS", url)
        raise UnreachableError("exporter-answer", f"{url} answers with HTTP {status}.", cut_excerpt(content), hint)
    try:
        return parse_page(content.decode())
    except ValueError as error:  # of all lines, or of the encoding
        raise refuse_answer(web, shorten_message(str(error))) from None


def refuse_answer(web: Web, reason: str) -> UnreachableError:
    url = web.access.url
    return UnreachableError("exporter-answer", f"{url} does not print metrics.", reason, Command("curl", "-sS", url))


def cut_excerpt(content: bytes) -> str:
    return content[:120].decode(errors="replace")


def parse_families(text: str) -> tuple[Family, ...]:
    """Parse an exposition. Raise ValueError for a line that is not of the format."""
    page = parse_page(text)
    if page.refused_rows:
        raise ValueError(page.refused_rows[0])
    return page.families


def parse_page(text: str) -> Page:
    """Parse an exposition line by line. Raise ValueError where there are rows, and none of them is of the format."""
    rows, late_types = group_rows(text)
    lines = [line for group in rows.values() for line in group.list_lines()]
    refused_rows: list[str] = []
    try:
        families = build_families(lines)
    except ROW_ERRORS:
        for name, group in rows.items():
            accepted_rows = [(number, line) for number, line in group.series if not is_refused(line)]
            refused_rows += [f"{name}, {quote_row(*row)}" for row in group.series if row not in accepted_rows]
            group.series = accepted_rows
        families = build_families([line for group in rows.values() for line in group.list_lines()])
    if refused_rows and not any(family.series for family in families):
        raise ValueError(refused_rows[0])
    return Page(families, tuple(refused_rows), tuple(late_types))


def group_rows(text: str) -> tuple[dict[str, Rows], list[str]]:
    """Group the rows of a page by metric, and list its late TYPE lines. The first TYPE of a metric counts."""
    rows: dict[str, Rows] = {}
    late_types = []
    for number, line in enumerate(text.split("\n"), 1):
        words = line.split(maxsplit=3)
        if len(words) > 2 and words[:2] == ["#", "TYPE"]:
            group = rows.setdefault(words[2], Rows())
            late_types += [f"{words[2]}, line {number}"] if group.kind or group.series else []
            group.kind = group.kind or line
        elif len(words) > 2 and words[:2] == ["#", "HELP"]:
            group = rows.setdefault(words[2], Rows())
            group.help = group.help or line
        elif words and not words[0].startswith("#"):
            rows.setdefault(find_family(line, rows), Rows()).series.append((number, line))
    return rows, late_types


def find_family(line: str, rows: dict[str, Rows]) -> str:
    """Find the metric that a row belongs to. A row without a name is one of its own."""
    match = NAME.match(line.lstrip())
    name = match.group() if match else line
    bases = (name.removesuffix(ending) for ending in ENDINGS if name.endswith(ending))
    return name if name in rows else next((base for base in bases if base in rows), name)


def is_refused(line: str) -> bool:
    try:
        return not build_families([line])
    except ROW_ERRORS:
        return True


def quote_row(number: int, line: str) -> str:
    """Quote the value of a row, behind its labels, with the number of its line."""
    value = line.rpartition("}")[2].strip() or line.strip()
    return f"line {number}: {value[:LONGEST]}"


def build_families(lines: list[str]) -> tuple[Family, ...]:
    return tuple(
        Family(family.name, family.type, family.documentation, tuple(build_series(family)))
        for family in text_string_to_metric_families("\n".join([*lines, ""]))
    )


def build_series(family: Metric) -> Iterator[Series]:
    """Build the series of a metric. The parser gives every counter the ending of OpenMetrics, which DCGM's do not
    have."""
    for sample in family.samples:
        name = family.name if family.type == "counter" else sample.name
        yield Series({"__name__": name, **sample.labels}, ((0.0, float(sample.value)),))
