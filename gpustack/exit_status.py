"""Exit statuses of all commands. docs/exit-codes.md has the same table for people; a test compares both."""

from enum import IntEnum
from typing import Self


class ExitStatus(IntEnum):
    """State how a command ended. Of several statuses the first of this list counts. `meaning` is for all commands; a
    report may say it in the words of its command."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> Self:
        status = int.__new__(cls, code)
        status._value_ = code
        status.meaning = meaning
        return status

    BUG = 70, "a bug of gpustack"
    INTERRUPTED = 130, "interrupted"
    WRONG_USAGE = 2, "wrong usage"
    WRONG_CONFIGURATION = 3, "the configuration is wrong"
    UNREACHABLE = 4, "no host, or no Prometheus, could be asked"
    FAILED = 5, "a playbook failed, or a manual step is needed first"
    INCOMPLETE = 6, "installed, but the verification found that something still differs"
    LOCKED = 7, "another operator is changing this cluster"
    LAB_FAILED = 9, "the lab or the bundle failed"
    DIFFERS = 1, "something differs"
    UNKNOWN = 8, "unknown: no difference found, but something could not be evaluated, or has no data"
    OK = 0, "converged"


def select_status(**conditions: object) -> ExitStatus:
    """Select the status that counts of those whose condition is true, by name as in `differs=`; it is OK where none
    is."""
    condition_by_status = {ExitStatus[name.upper()]: condition for name, condition in conditions.items()}
    return next((status for status in ExitStatus if condition_by_status.get(status)), ExitStatus.OK)
