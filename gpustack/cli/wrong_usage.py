"""Wrong command lines in the form of all other errors, and readers that end. Typer finds the former, and prints them
through `show`."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

import typer
from typer._click.exceptions import BadParameter, NoArgsIsHelpError
from typer._click.exceptions import UsageError as ClickError

from gpustack.cli import error_handler
from gpustack.errors import UsageError

SUGGESTION = " Did you mean "
READER_ENDED = 141
"""The exit status of a program that SIGPIPE ends, as shells give it."""


class WrongUsage(ClickError):
    """Describe a wrong command line. The exit status and the message are Typer's."""

    def show(self, file: IO[Any] | None = None) -> None:
        from gpustack.report.error import render_error

        message, *lines = self.format_message().splitlines()
        message, separator, suggestion = message.partition(SUGGESTION)
        reason = "\n".join(filter(None, ((separator + suggestion).strip(), *lines)))
        error = UsageError("", message, reason, error_handler.find_help())
        (file or sys.stderr).write(render_error(error, error_handler.known_secrets))


class WrongValue(WrongUsage, BadParameter):
    """Describe the value of an option or argument that is wrong. The message names it."""

    def __init__(self, error: BadParameter) -> None:
        super().__init__(error.format_message(), error.ctx)
        self.param, self.param_hint = error.param, error.param_hint

    def format_message(self) -> str:
        return self.message


@contextmanager
def convert_errors() -> Iterator[None]:
    """Convert the errors of Typer about a command line. Help that is shown in place of a command is none. A reader of
    stdout that ended before the result was written is no difference, which Typer's status 1 would say."""
    try:
        yield
    except (WrongUsage, NoArgsIsHelpError):
        raise
    except BadParameter as error:
        raise WrongValue(error) from error
    except ClickError as error:
        raise WrongUsage(error.format_message(), error.ctx) from error
    except BrokenPipeError as error:
        raise typer.Exit(READER_ENDED) from error
