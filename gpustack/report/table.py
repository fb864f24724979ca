"""Tables for people: headings, a line for each row, no rules between them."""

import re
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.table import Table

from gpustack.ask.redact.printable import flatten
from gpustack.report.terminal import Terminal

GAP = 2
NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?( ?%)?[*^~]*")
"""A figure, with its unit and the marks of its basis."""
EMPTY_CELLS = ("", "-")


def draw_table(console: Terminal, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Draw a table. A row is one line in a file or a pipe, whatever its cells hold; a terminal folds wide cells."""
    clean_rows = [tuple(flatten(console.clean(cell)) for cell in row) for row in rows]
    columns = list(zip(*clean_rows, strict=True))
    widths = [max(map(cell_len, column)) for column in zip(headings, *clean_rows, strict=True)]
    console.widen(needed_width := sum(widths) + GAP * (len(widths) - 1))
    table = Table(box=None, pad_edge=False, header_style="", show_edge=False)
    for heading, column in zip(headings, columns or ((),) * len(headings), strict=True):
        table.add_column(heading, overflow="fold", justify="right" if holds_numbers(column) else "left")
    if columns and needed_width <= console.width:
        # The same lines in one row, which rich draws in a third of the time: of 1,000 GPUs in 0.5 s.
        clean_rows = [tuple(map("\n".join, columns))]
    for row in clean_rows:
        table.add_row(*row)
    return table


def holds_numbers(cells: Iterable[str]) -> bool:
    """Tell whether all cells of a column are figures, besides empty ones."""
    texts = [cell for cell in cells if cell not in EMPTY_CELLS]
    return bool(texts) and all(NUMBER.fullmatch(text) for text in texts)
