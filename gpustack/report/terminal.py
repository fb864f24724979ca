"""What hosts, files and other people wrote moves no cursor of a terminal, sets no title, fills no clipboard and turns
no line round: the console for people, and JSON. All else that is written passes report/guard.py."""

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from gpustack.ask.redact.printable import harmless, plain
from gpustack.ask.redact.redact import redact

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory

UNKNOWN_WIDTH = 80


class Terminal(Console):
    """A console that reads nothing into a text, lets no control character of one through, and hides the secrets of an
    inventory. Who prints a text cleans it whole: what was wrapped or cut is not known as a secret."""

    secrets: Sequence[str] = ()

    def __init__(self, file: TextIO | None = None, **settings: Any) -> None:
        super().__init__(**{"file": file, "highlight": False, "markup": False, "emoji": False, **settings})
        self.bounded = self.is_terminal or "width" in settings or "COLUMNS" in os.environ
        if not self.width:
            # COLUMNS=0 means that the width is not known; rich would print nothing.
            self.width = UNKNOWN_WIDTH

    def hide(self, inventory: "Inventory") -> None:
        self.secrets = inventory.secrets

    def widen(self, width: int) -> None:
        """What is read by a program, or by somebody later, has no width unless one was set."""
        if not self.bounded:
            self.width = max(self.width, width)

    def clean(self, text: str) -> str:
        return redact(plain(text), self.secrets)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(plain(segment.text), segment.style)


def escaped(document: str) -> str:
    """JSON in which what is not printable stands as `\\\\u…`, lone surrogates too."""
    return "".join(char if harmless(char) else json_escape(char) for char in document)


def json_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))
