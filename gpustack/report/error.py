"""An error as text: what is wrong, where and why, what to do now, and the page that tells more."""

from collections.abc import Sequence

from gpustack.ask.redact.printable import plain
from gpustack.ask.redact.redact import redact
from gpustack.command import Command
from gpustack.errors import GpustackError
from gpustack.report.progress import rest


def render(error: GpustackError, secrets: Sequence[str] = ()) -> str:
    """Plain text, one line per complaint, never wrapped: it is read in logs as well."""
    rest()
    page = Command("gpustack", "explain", error.reference)
    rows = [("error", error.message), ("why", error.why), ("do", error.hint if error.hint != page else "")]
    lines = [line for name, text in rows if text for line in row(name, redact(plain(text), secrets).strip())]
    return "\n".join([*lines, *row("more", page)]) + "\n"


def row(name: str, text: str) -> list[str]:
    first, *following = text.splitlines() or [""]
    return [f"{name + ':':<7}{first}", *(f"{'':7}{line}" for line in following)]
