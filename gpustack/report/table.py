"""Tables for people: headings, a line for each row, no rules between them. Where the words of the columns do not fit
beside each other, a row is a block of lines, each with its heading."""

import re
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, JustifyMethod
from rich.segment import Segment
from rich.table import Table

from gpustack.ask.redact.printable import flatten
from gpustack.report.format import split_long_words
from gpustack.report.terminal import Terminal

GAP = 2
"""Columns between two cells, or one where a row fits into a line then."""
NUMBER = re.compile(r"-?\d[\d,]*(\.\d+)?( ?%)?[*^~]*")
"""A figure, with its unit and the marks of its basis."""
EMPTY_CELLS = ("", "-")


class TrimmedTable(Table):
    """Draw a table whose lines end with their last word. Rich fills up the last column, too."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        segments = (part for part in super().__rich_console__(console, options) if isinstance(part, Segment))
        for line in Segment.split_lines(segments):
            while line and not line[-1].text.strip():
                line.pop()
            yield from line[:-1]
            yield from (Segment(last.text.rstrip(), last.style) for last in line[-1:])
            yield Segment.line()


def draw_table(console: Terminal, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """Draw a table. A row is one line in a file or a pipe, whatever its cells hold. A terminal wraps wide cells between
    words, and is given a block for each row where it is too narrow for that."""
    clean_rows = [tuple(flatten(console.clean(cell)) for cell in row) for row in rows]
    columns = list(zip(*clean_rows, strict=True))
    widths = [max(map(cell_len, column)) for column in zip(headings, *clean_rows, strict=True)]
    console.widen(needed_width := sum(widths) + GAP * (len(widths) - 1))
    word_widths = [max(map(compute_word_width, column)) for column in zip(headings, *clean_rows, strict=True)]
    room = console.width - sum(word_widths)
    if clean_rows and room < len(word_widths) - 1:
        return draw_blocks(headings, clean_rows, console.width)
    is_tight = sum(widths) + len(widths) - 1 <= console.width < needed_width
    gap = 1 if is_tight or room < GAP * (len(word_widths) - 1) else GAP
    table = TrimmedTable(box=None, pad_edge=False, header_style="", show_edge=False, padding=(0, gap - 1, 0, 1))
    cell_widths = fit_widths(widths, word_widths, console.width - gap * (len(widths) - 1))
    for heading, column, width in zip(headings, columns or ((),) * len(headings), cell_widths, strict=True):
        justify: JustifyMethod = "right" if holds_numbers(column) else "left"
        table.add_column(heading, overflow="fold", justify=justify, width=width)
    if columns and needed_width <= console.width:
        # The same lines in one row, which rich draws in a third of the time: of 1,000 GPUs in 0.5 s.
        clean_rows = [tuple(map("\n".join, columns))]
    for row in clean_rows:
        table.add_row(*row)
    return table


def fit_widths(widths: Sequence[int], least_widths: Sequence[int], room: int) -> list[int]:
    """Shrink the widest columns, none below its longest word, until all fit into the room."""
    fitted_widths = list(widths)
    while sum(fitted_widths) > room:
        wide = [number for number, width in enumerate(fitted_widths) if width > least_widths[number]]
        if not wide:
            break
        fitted_widths[max(wide, key=fitted_widths.__getitem__)] -= 1
    return fitted_widths


def draw_blocks(headings: Sequence[str], rows: Iterable[Sequence[str]], width: int) -> Table:
    """Draw each row as lines with its headings, and an empty line between two rows. Empty cells are left out."""
    room = max(width - max(map(cell_len, headings)) - GAP, 1)
    table = TrimmedTable(box=None, pad_edge=False, header_style="", show_edge=False, show_header=False)
    table.add_column(overflow="fold")
    table.add_column(overflow="fold")
    for number, row in enumerate(rows):
        if number:
            table.add_row("", "")
        for heading, cell in zip(headings, row, strict=True):
            if cell:
                table.add_row(heading, split_long_words(cell, room))
    return table


def compute_word_width(text: str) -> int:
    """Compute the width of the longest word of a text."""
    return max(map(cell_len, text.split()), default=0)


def holds_numbers(cells: Iterable[str]) -> bool:
    """Tell whether all cells of a column are figures, besides empty ones."""
    texts = [cell for cell in cells if cell not in EMPTY_CELLS]
    return bool(texts) and all(NUMBER.fullmatch(text) for text in texts)
