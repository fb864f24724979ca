"""The errors people see. Each names what, why and what to do now, under a reference that `gpustack explain` knows.

The exit codes are those of docs/exit-codes.md:

    GpustackError
    ├── ConfigError        3   the inventory or the cluster spec is wrong; lists every complaint
    ├── UnreachableError   4   no host could be asked
    ├── RolloutError       5   a playbook failed, or something must be changed by hand first
    ├── VerifyError        6   installed, and the second question did not come back clean
    ├── LockedError        7   somebody else is changing this cluster
    ├── LabError           9
    └── BundleError        9
"""

from typing import ClassVar

from gpustack.command import NO_HINT, Hint


class GpustackError(Exception):
    """`reference` is a kebab-case id, `why` one or more lines, `hint` what to type or do now (or empty)."""

    code: ClassVar[int] = 70

    def __init__(self, reference: str, message: str, why: str = "", hint: Hint = NO_HINT) -> None:
        super().__init__(message)
        self.reference = reference
        self.message = message
        self.why = why
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
