"""Takes out of texts what a terminal would act on. Apart from the secrets, whose patterns take long to compile."""

import re

ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # OSC and other strings: titles, links, the clipboard
    r"|\x1b[ -/]*[0-~]?"  # all others, and a string that never ends: what it says is shown
)


def harmless(char: str) -> bool:
    """Printable, or a newline or tab. Not so: control characters, what turns the direction of writing or cannot be
    seen, lone surrogates, line separators that only some programs take for one."""
    return char.isprintable() or char in "\n\t"


def plain(text: str) -> str:
    """As it may be shown: escape sequences go, a return becomes a newline, an odd space a space, and each other
    character that is not harmless is shown as U+FFFD."""
    if text.isprintable():
        return text
    text = ESCAPES.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return "".join(char if harmless(char) else " " if char.isspace() and char > "\x7f" else "\ufffd" for char in text)


def flatten(text: str) -> str:
    """Return a text as one line of printable characters, as a cell of a table has it."""
    return text if text.isprintable() else " ".join(plain(text).split())
