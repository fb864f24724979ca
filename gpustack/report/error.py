"""An error as text: the message, the reason, what to do, and the page that explains it."""

from collections.abc import Sequence

from gpustack.ask.redact.printable import clean_text
from gpustack.ask.redact.redact import redact
from gpustack.command import Command
from gpustack.errors import GpustackError
from gpustack.report.progress import clear_live_lines


def render_error(error: GpustackError, secrets: Sequence[str] = ()) -> str:
    """Render an error as plain text, one line per complaint. Lines are never wrapped, because logs contain them as
    well."""
    clear_live_lines()
    page = Command("gpustack", "explain", error.reference)
    rows = [("error", error.message), ("why", error.reason), ("do", error.hint if error.hint != page else "")]
    lines = [
        line for name, text in rows if text for line in format_field(name, redact(clean_text(text), secrets).strip())
    ]
    return "\n".join([*lines, *(format_field("more", page) if error.reference else ())]) + "\n"


def format_field(name: str, text: str) -> list[str]:
    first, *continuation = text.splitlines() or [""]
    return [f"{name + ':':<7}{first}", *(f"{'':7}{line}" for line in continuation)]
