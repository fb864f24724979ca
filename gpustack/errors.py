"""The errors that people see. Each has a message, a reason and a hint, under a reference for `gpustack explain`.

The exit codes are those of docs/exit-codes.md:

    GpustackError
    ├── ConfigError        3   the inventory or the cluster spec is wrong; lists every complaint
    ├── UnreachableError   4   no host could be asked
    ├── RolloutError       5   a playbook failed, or something must be changed by hand first
    ├── VerifyError        6   installed, and the second question did not come back clean
    ├── LockedError        7   somebody else is changing this cluster
    ├── LabError           9
    ├── BundleError        9
    └── Interruption       130 somebody stopped the command
"""

from typing import ClassVar

from gpustack.command import NO_HINT, Hint


class GpustackError(Exception):
    """Describe a failure. `reference` is a kebab-case id, `reason` has one or more lines, `hint` is the command or text
    to follow, or empty."""

    code: ClassVar[int] = 70

    def __init__(self, reference: str, message: str, reason: str = "", hint: Hint = NO_HINT) -> None:
        super().__init__(message)
        self.reference = reference
        self.message = message
        self.reason = reason
        self.hint = hint


class UsageError(GpustackError):
    code = 2


class ConfigError(GpustackError):
    code = 3


class UnreachableError(GpustackError):
    code = 4


class RolloutError(GpustackError):
    code = 5


class VerifyError(GpustackError):
    code = 6


class LockedError(GpustackError):
    code = 7


class LabError(GpustackError):
    code = 9


class BundleError(GpustackError):
    code = 9


class Interruption(GpustackError):
    code = 130

    def __init__(self) -> None:
        super().__init__("", "The command was interrupted.")
