"""The console for people, and the escaping of JSON. Text from hosts, files and other people moves no cursor of a
terminal, sets no title, fills no clipboard and reverses no line. All other output passes report/guard.py."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from gpustack.ask.redact.printable import clean_text, is_printable
from gpustack.ask.redact.redact import redact

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory

UNKNOWN_WIDTH = 80


class Terminal(Console):
    """Print texts without markup, without control characters and without the secrets of an inventory. A text is
    cleaned before it is wrapped or cut, since a part of a secret is not recognized."""

    secrets: Sequence[str] = ()

    def __init__(self, file: TextIO | None = None, **settings: Any) -> None:
        super().__init__(**{"file": file, "highlight": False, "markup": False, "emoji": False, **settings})
        self.has_fixed_width = self.is_terminal or "width" in settings or "COLUMNS" in os.environ
        if not self.width:
            # COLUMNS=0 means that the width is not known; rich would print nothing.
            self.width = UNKNOWN_WIDTH

    def on_broken_pipe(self) -> None:
        """Raise the error of a reader that ended. Rich would exit with 1, which is the status of a difference."""
        self.quiet = True
        raise BrokenPipeError

    def hide_secrets(self, inventory: "Inventory") -> None:
        self.secrets = inventory.secrets

    def widen(self, width: int) -> None:
        """Widen the console for output to a file or a pipe, unless a width was set."""
        if not self.has_fixed_width:
            self.width = max(self.width, width)

    def clean(self, text: str) -> str:
        return redact(clean_text(text), self.secrets)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(clean_text(segment.text), segment.style)


def escape_json(document: str) -> str:
    """Escape all characters of a JSON document that are not printable as `\\\\u…`, lone surrogates too."""
    return "".join(char if is_printable(char) else escape_char(char) for char in document)


def escape_char(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[index]:02x}{units[index + 1]:02x}" for index in range(0, len(units), 2))
