"""Takes secrets out of texts, and terminal escapes. A recording keeps its shape: what is left still parses.

Each rule keeps the name of what was there, so that a reader sees what is gone; what is no secret stays as it is.
"""

import re
from collections.abc import Sequence

from gpustack.ask.redact.known_secrets import hide_known
from gpustack.ask.redact.secret_names import FLAG, hide_named
from gpustack.ask.redact.secret_shapes import GONE, SHAPES, Shape

ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor
    r"|\x1b[\]PX^_][^\x07\x1b\n]{0,4096}(?:\x07|\x1b\\)"  # OSC and other strings: titles, links, the clipboard
    r"|\x1b[ -/]*[0-~]?"  # all others, and a string that never ends: what it says is shown
)


def redact(text: str, secrets: Sequence[str] = ()) -> str:
    """`secrets` are values known to be secret; they go first, wherever and however they stand."""
    text = hide_known(text, secrets)
    for rule in (*SHAPES, FLAG):
        text = hide(rule, text)
    return hide_named(text)


def hide(rule: Shape, text: str) -> str:
    def instead(found: re.Match[str]) -> str:
        if found["s"].startswith(GONE) or not rule.takes(found):
            return found[0]
        start, end = (at - found.start() for at in found.span("s"))
        return f"{found[0][:start]}{rule.gone}{found[0][end:]}"

    return rule.pattern.sub(instead, text)


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
