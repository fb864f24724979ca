"""The errors that people see. Each has a message, a reason and a hint, under a reference for `gpustack explain`.

The exit codes are those of docs/exit-codes.md:

    GpustackError
    ├── ConfigError        3   the inventory or the cluster spec is wrong; lists every complaint
    ├── UnreachableError   4   no host could be asked
    ├── RolloutError       5   a playbook failed, or something must be changed by hand first
    ├── VerifyError        6   installed, and the second question did not come back clean
    ├── LockedError        7   somebody else is changing this cluster
    ├── MissingDataError   8   what the command needs is not measured, or not free
    ├── LabError           9
    ├── BundleError        9
    └── Interruption       130 somebody stopped the command
"""

from typing import ClassVar

from gpustack.command import NO_HINT, Command, Hint
from gpustack.exit_status import ExitStatus


def describe_os_error(error: Exception) -> str:
    """Describe an error in the words of the operating system, without its number and its path, which messages have."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


class GpustackError(Exception):
    """Describe a failure. `reference` is a kebab-case id or empty, `reason` has one or more lines. `hint` is what to
    do: a command or text, by default the command that prints the page of the reference."""

    code: ClassVar[ExitStatus] = ExitStatus.BUG

    def __init__(self, reference: str, message: str, reason: str = "", hint: Hint = NO_HINT) -> None:
        super().__init__(message)
        self.reference = reference
        self.message = message
        self.reason = reason
        self.hint = hint or (Command("gpustack", "explain", reference) if reference else NO_HINT)


class UsageError(GpustackError):
    code = ExitStatus.WRONG_USAGE


class InputError(UsageError, ValueError):
    """Describe a value that a package cannot use, in its own words: `cli` knows the option and adds the hint."""


class MissingDataError(GpustackError):
    """Describe data or a state that a right command needs, and that is not there: the same command may work later."""

    code = ExitStatus.UNKNOWN


class ConfigError(GpustackError):
    code = ExitStatus.WRONG_CONFIGURATION


class UnreachableError(GpustackError):
    code = ExitStatus.UNREACHABLE


class RolloutError(GpustackError):
    code = ExitStatus.FAILED


class VerifyError(GpustackError):
    code = ExitStatus.INCOMPLETE


class LockedError(GpustackError):
    code = ExitStatus.LOCKED


class LabError(GpustackError):
    code = ExitStatus.LAB_FAILED


class BundleError(GpustackError):
    code = ExitStatus.LAB_FAILED


class Interruption(GpustackError):
    code = ExitStatus.INTERRUPTED

    def __init__(self) -> None:
        super().__init__("", "The command was interrupted.")
