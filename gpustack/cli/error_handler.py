"""The only place where an error becomes text and an exit code (docs/exit-codes.md)."""

import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

from gpustack.errors import GpustackError

INTERRUPTED, BUG = 130, 70
STOPPED = "\ninterrupted\n"
known_secrets: list[str] = []
"""Secrets by their values; `session.open_inventory` adds those of the inventory."""


@contextmanager
def error_handler() -> Iterator[None]:
    try:
        yield
    except GpustackError as error:
        from gpustack.report.error import render

        sys.stderr.write(render(error, known_secrets) + collect_notes(error))
        raise SystemExit(error.code) from error
    except KeyboardInterrupt as error:
        sys.stderr.write(STOPPED)
        raise SystemExit(INTERRUPTED) from error
    except SystemExit as ended:
        # typer makes Exit(130) of a KeyboardInterrupt, and SystemExit of that.
        if isinstance(getattr(ended.__context__, "__cause__", None), KeyboardInterrupt):
            sys.stderr.write(STOPPED)
        raise
    except Exception as error:
        from gpustack.ask.redact.printable import plain
        from gpustack.ask.redact.redact import redact

        text = redact(plain(f"{type(error).__name__}: {error}"), known_secrets)
        try:
            report = f"report saved to {save_report(error)}"
        except OSError as refused:
            report = f"no report was saved: {refused}"
        sys.stderr.write(f"gpustack met a bug of its own: {text}\n{report}\n{collect_notes(error)}")
        raise SystemExit(BUG) from error


def collect_notes(error: Exception) -> str:
    return "".join(getattr(error, "__notes__", ()))


def save_report(error: Exception) -> str:
    """Write the traceback, redacted and printable, to the user's state directory, and return its path."""
    from platformdirs import user_state_path

    from gpustack.ask.redact.printable import plain
    from gpustack.ask.redact.redact import redact
    from gpustack.files.write import write_file

    path = user_state_path("gpustack") / "bug-report.txt"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    write_file(path, redact(plain("".join(traceback.format_exception(error))), known_secrets))
    return str(path)
