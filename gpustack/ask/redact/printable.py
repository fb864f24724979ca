"""Removal of what a terminal would act on. The patterns of secrets take long to compile, so this is a module of its
own."""

import re

ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # OSC and other strings: titles, links, the clipboard
    r"|\x1b[ -/]*[0-~]?"  # all others, and a string that never ends: what it says is shown
)


def is_printable(char: str) -> bool:
    """Tell whether a character is printable, or a newline or tab.

    Control characters, lone surrogates, characters that are invisible or change the direction of writing, and line
    separators that only some programs know are not printable.
    """
    return char.isprintable() or char in "\n\t"


def clean_text(text: str) -> str:
    """Return a text as it may be shown: without escape sequences, a return as a newline, an odd space as a space, and
    each other character that is not printable as U+FFFD."""
    if text.isprintable():
        return text
    text = ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "".join(
        char if is_printable(char) else " " if char.isspace() and char > "\x7f" else "\ufffd" for char in text
    )


def flatten(text: str) -> str:
    """Return a text as one line of printable characters, as a cell of a table has it."""
    return text if text.isprintable() else " ".join(clean_text(text).split())
