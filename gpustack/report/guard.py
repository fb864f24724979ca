"""Guards of stdout and stderr. Only printable text, newlines, tabs and gpustack's own colours reach a terminal. A
character that the stream cannot encode is replaced by ASCII with the same meaning, and a stream that cannot be written
ends the command with an error."""

import codecs
import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from gpustack.ask.redact.printable import clean_text
from gpustack.errors import UsageError, describe_os_error
from gpustack.files.write import open_null

# Colours, and what rich's live line needs: the cursor on or off, to the start of the line, up, the line erased.
ALLOWED_SEQUENCES = re.compile(r"(\x1b\[(?:[0-9;]*m|\?25[hl]|[0-9]*A|2?K)|\r)")


SUBSTITUTES = {
    "\N{MINUS SIGN}": "-",
    "\N{EN DASH}": "-",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{NO-BREAK SPACE}": " ",
    "±": "+/-",
    "→": "->",
    "…": "...",
    "°": "",
    "¹": "^1",
    "─": "-",
    "│": "|",
    "├": "|",
    "└": "`",
    "✓": "ok",
    "✗": "failed",
}
"""ASCII for the characters of reports, in a locale without them: a lost sign would make a loss a gain."""
TO_ASCII = "gpustack-to-ascii"


def replace_by_ascii(error: UnicodeError) -> tuple[str | bytes, int]:
    """Replace a character that cannot be encoded by its substitute, and another one by a question mark."""
    if isinstance(error, UnicodeEncodeError) and (text := SUBSTITUTES.get(error.object[error.start])) is not None:
        return text, error.start + 1
    return codecs.replace_errors(error)


codecs.register_error(TO_ASCII, replace_by_ascii)


class GuardedStream:
    """Guard a text stream. A stream that is no terminal gets no escape sequences at all. A full disk or a closed
    stream raises UsageError where the stream `is_required`; else the error is ignored, as there is nobody to report
    it to."""

    def __init__(self, stream: TextIO, *, is_required: bool = True) -> None:
        self.stream, self.is_required, self.has_written = stream, is_required, False

    def write(self, text: str) -> int:
        parts = ALLOWED_SEQUENCES.split(text) if self.stream.isatty() else [text]
        output = "".join(part if index % 2 else clean_text(part) for index, part in enumerate(parts))
        coding = self.stream.encoding or "utf-8"
        self.has_written = self.has_written or bool(text)
        self.try_write(lambda: self.stream.write(output.encode(coding, TO_ASCII).decode(coding)))
        return len(text)

    def flush(self) -> None:
        self.try_write(self.stream.flush)

    def try_write(self, write: Callable[[], Any]) -> None:
        try:
            write()
        except OSError as error:
            # Python would write its buffer again at exit, fail, and replace the exit status.
            with contextlib.suppress(OSError), open_null() as null:
                os.dup2(null.fileno(), self.stream.fileno())
            if isinstance(error, BrokenPipeError):
                raise
            if self.is_required:
                raise build_output_error(describe_os_error(error)) from error

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


def build_output_error(reason: str) -> UsageError:
    message = "The result cannot be written to the standard output."
    return UsageError("output-unwritable", message, reason)


def guard_streams() -> None:
    """Guard stdout and stderr for the rest of the process. Raise UsageError where there is no stdout."""
    for name in ("stderr", "stdout"):
        stream = getattr(sys, name)
        if stream is None and name == "stdout":
            raise build_output_error("it is closed")
        if not isinstance(stream, GuardedStream):
            # The stream is None where the shell closed it.
            setattr(sys, name, GuardedStream(stream or open_null(), is_required=name == "stdout"))
