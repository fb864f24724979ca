"""The last place before a terminal: only printable text, newlines, tabs and our own colours get through, whoever wrote
them; and a stream that cannot hold a character ends no program."""

import re
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from gpustack.ask.redact import plain

# Colours, and what rich's live line needs: the cursor on or off, to the start of the line, up, the line erased.
OURS = re.compile(r"(\x1b\[(?:[0-9;]*m|\?25[hl]|[0-9]*A|2?K)|\r)")


class Guarded:
    """A text stream. What is no terminal gets none of our own sequences either."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        parts = OURS.split(text) if self.stream.isatty() else [text]
        said = "".join(part if at % 2 else plain(part) for at, part in enumerate(parts))
        coding = self.stream.encoding or "utf-8"
        self.stream.write(said.encode(coding, "replace").decode(coding))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def guard() -> None:
    """Of stdout and stderr, from now on."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, Guarded):
            setattr(sys, name, Guarded(stream))
