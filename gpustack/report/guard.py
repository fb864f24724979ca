"""The last place before a terminal: only printable text, newlines, tabs and our own colours get through, whoever wrote
them; a stream that cannot hold a character ends no program, and one that takes nothing ends it with an error."""

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from gpustack.ask.redact.printable import plain
from gpustack.command import Command
from gpustack.errors import UsageError
from gpustack.files.write import open_null

# Colours, and what rich's live line needs: the cursor on or off, to the start of the line, up, the line erased.
OURS = re.compile(r"(\x1b\[(?:[0-9;]*m|\?25[hl]|[0-9]*A|2?K)|\r)")


class Guarded:
    """A text stream. What is no terminal gets none of our own sequences either. Where it is `needed`, a full disk or
    a closed stream is a UsageError; else there is nobody to report it to."""

    def __init__(self, stream: TextIO, *, needed: bool = True) -> None:
        self.stream, self.needed = stream, needed

    def write(self, text: str) -> int:
        parts = OURS.split(text) if self.stream.isatty() else [text]
        output = "".join(part if at % 2 else plain(part) for at, part in enumerate(parts))
        coding = self.stream.encoding or "utf-8"
        self.tried(lambda: self.stream.write(output.encode(coding, "replace").decode(coding)))
        return len(text)

    def flush(self) -> None:
        self.tried(self.stream.flush)

    def tried(self, act: Callable[[], Any]) -> None:
        try:
            act()
        except OSError as error:
            # What is kept back for it would fail once more when Python ends, with an exit status of its own.
            with contextlib.suppress(OSError), open_null() as nowhere:
                os.dup2(nowhere.fileno(), self.stream.fileno())
            if isinstance(error, BrokenPipeError):
                raise
            if self.needed:
                raise unwritable(error.strerror or str(error)) from error

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def unwritable(why: str) -> UsageError:
    message = "The result cannot be written to the standard output."
    return UsageError("output-unwritable", message, why, Command("gpustack", "explain", "output-unwritable"))


def guard() -> None:
    """Of stdout and stderr, from now on. Raises UsageError where there is no stdout."""
    for name in ("stderr", "stdout"):
        stream = getattr(sys, name)
        if stream is None and name == "stdout":
            raise unwritable("it is closed")
        if not isinstance(stream, Guarded):
            # Python has none where the shell closed it.
            setattr(sys, name, Guarded(stream or open_null(), needed=name == "stdout"))
