"""File systems in memory that are full, and units that use all tasks or open files that they may.

A container needs some of each when it starts: its sandbox lies in /run, and its shim is a task of containerd's unit.
"""

from collections.abc import Iterator

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.checks.host.disk import FULL
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.host.limits import HOST_LIMITS, LimitedUnit

LEAST_LEFT = 12
"""The tasks or files that one more container may need: a shim starts about ten threads."""
MUCH = 0.9
"""The share of a limit from which on it is a risk."""


def observe_rooms(view: View) -> Iterator[AbnormalState]:
    for path, room in view[HOST_LIMITS].rooms.items():
        if room.space < FULL[0] or room.inodes < FULL[1]:
            severity: Severity = "risk" if room.space and room.inodes else "broken"
            message = f"{room.space} % of the space and {room.inodes} % of the inodes are free"
            command = Command("df", path)
            yield AbnormalState(
                "disk-unusable", severity, (view.location,), (f"file system of {path}",), message, command
            )


def observe_usages(view: View) -> Iterator[AbnormalState]:
    for unit in view[HOST_LIMITS].units:
        if severity := judge_usage(unit):
            noun = "tasks" if unit.limit == "TasksMax" else "open files"
            message = f"it uses {unit.usage} of {unit.maximum} {noun} ({unit.limit}); at the limit no container starts"
            command = Command("systemctl", "show", f"{unit.name}.service", "-p", f"{unit.limit},DropInPaths")
            subject = f"unit {unit.name}.service"
            yield AbnormalState("unit-limit", severity, (view.location,), (subject,), message, command)


def judge_usage(unit: LimitedUnit) -> Severity | None:
    """Judge what a unit uses of a limit; None where enough is left."""
    if unit.maximum - unit.usage < LEAST_LEFT:
        return "broken"
    return "risk" if unit.usage >= MUCH * unit.maximum else None


OBSERVERS = (
    Observer("rooms-in-memory", "File systems in memory", observe_rooms, (HOST_LIMITS,), scope="host"),
    Observer("limits-of-units", "Limits of units", observe_usages, (HOST_LIMITS,), scope="host"),
)
