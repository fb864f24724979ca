"""The conversion of errors to text and exit codes (docs/exit-codes.md). No other module converts errors."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from gpustack.errors import GpustackError

INTERRUPTED, BUG = 130, 70
STOPPED = "\ninterrupted\n"
known_secrets: list[str] = []
"""Values of secrets to redact; `session.open_inventory` adds those of the inventory."""


@contextmanager
def report_errors() -> Iterator[None]:
    try:
        yield
    except GpustackError as error:
        from gpustack.report.error import render_error

        sys.stderr.write(render_error(error, known_secrets) + collect_notes(error))
        raise SystemExit(error.code) from error
    except KeyboardInterrupt as error:
        sys.stderr.write(STOPPED)
        raise SystemExit(INTERRUPTED) from error
    except SystemExit as exit_request:
        # Typer converts a KeyboardInterrupt to Exit(130), and that to SystemExit.
        if isinstance(getattr(exit_request.__context__, "__cause__", None), KeyboardInterrupt):
            sys.stderr.write(STOPPED)
        raise
    except Exception as error:
        from gpustack.ask.redact.printable import clean_text
        from gpustack.ask.redact.redact import redact

        text = redact(clean_text(f"{type(error).__name__}: {error}"), known_secrets)
        try:
            report = f"report saved to {save_report(error)}"
        except OSError as write_error:
            report = f"no report was saved: {write_error}"
        sys.stderr.write(f"gpustack met a bug of its own: {text}\n{report}\n{collect_notes(error)}")
        raise SystemExit(BUG) from error


def collect_notes(error: Exception) -> str:
    return "".join(getattr(error, "__notes__", ()))


def save_report(error: Exception) -> str:
    """Write the traceback, redacted and printable, to the user's state directory, and return its path."""
    from platformdirs import user_state_path

    from gpustack.ask.redact.printable import clean_text
    from gpustack.ask.redact.redact import redact
    from gpustack.files.write import write_file

    path = user_state_path("gpustack") / "bug-report.txt"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    write_file(path, redact(clean_text("".join(traceback.format_exception(error))), known_secrets))
    return str(path)
