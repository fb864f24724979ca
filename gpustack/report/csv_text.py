"""CSV is written by this module alone: a row is a line, and no spreadsheet takes a cell for a formula."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence

from gpustack.ask.redact.printable import flatten

FORMULA = re.compile(r"(^|;)(?=[\s'\"]*[=+\-@\uff1d\uff0b\uff0d\uff20])")
"""Spreadsheets run what begins so, also behind blanks and quotes, and in the width of East Asian characters. A
semicolon ends a cell where the language of the spreadsheet writes numbers with a comma."""
NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def write_csv(heading: Sequence[str], rows: Iterable[Sequence[str]], clean: Callable[[str], str]) -> str:
    """Return the rows below their heading; `clean` takes secrets and escapes out of each cell."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(heading)
    lines.writerows([write_cell(clean(cell)) for cell in row] for row in rows)
    return text.getvalue()


def write_cell(text: str) -> str:
    """Return a text as one line, with an apostrophe before what a spreadsheet would run. A number stays one."""
    line = flatten(text)
    return line if NUMBER.fullmatch(line) else FORMULA.sub(r"\1'", line)
