"""The width of pages: that of the terminal, and at most 80 columns."""

import sys
from shutil import get_terminal_size
from textwrap import fill

LONGEST, SHORTEST = 80, 24
"""Bounds in columns. In a file or a pipe a page has the upper one, unless COLUMNS says otherwise."""


def compute_width() -> int:
    return max(SHORTEST, min(LONGEST, get_terminal_size((LONGEST, SHORTEST)).columns))


def wrap_text(text: str) -> str:
    """Wrap a paragraph at the width of pages. Long words stay whole."""
    return fill(text, compute_width(), break_long_words=False, break_on_hyphens=False)


def wrap_for_terminal(text: str) -> str:
    """Wrap a line of stderr on a terminal. In a file or a pipe it stays one line."""
    return wrap_text(text) if sys.stderr.isatty() else text


def format_page_entry(name: str, title: str, width: int = 0) -> str:
    """Format a page in a list of pages, wrapped on a terminal. In a file or a pipe it is one line, so that grep finds
    all of it, and names have this width."""
    if not sys.stdout.isatty():
        return f"  {name:<{width}}  {title}"
    return fill(
        f"  {name}  {title}", compute_width(), subsequent_indent=" " * 6, break_long_words=False, break_on_hyphens=False
    )
