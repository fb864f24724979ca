"""File systems in memory that are full, and units that use all tasks or open files that they may.

A container needs some of each when it starts: its sandbox lies in /run, and its shim is a task of containerd's unit.
"""

from collections.abc import Iterator

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.checks.host.disk import FULL
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.host.limits import HOST_LIMITS, Usage

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
    for usage in view[HOST_LIMITS].usages:
        if severity := judge_usage(usage):
            noun = "tasks" if usage.limit == "TasksMax" else "open files"
            message = f"it uses {usage.used} of {usage.most} {noun} ({usage.limit}); at the limit no container starts"
            command = Command("systemctl", "show", f"{usage.unit}.service", "-p", f"{usage.limit},DropInPaths")
            subject = f"unit {usage.unit}.service"
            yield AbnormalState("unit-limit", severity, (view.location,), (subject,), message, command)


def judge_usage(usage: Usage) -> Severity | None:
    """Judge what a unit uses of a limit; None where enough is left."""
    if usage.most - usage.used < LEAST_LEFT:
        return "broken"
    return "risk" if usage.used >= MUCH * usage.most else None


OBSERVERS = (
    Observer("rooms-in-memory", "File systems in memory", observe_rooms, (HOST_LIMITS,), scope="host"),
    Observer("limits-of-units", "Limits of units", observe_usages, (HOST_LIMITS,), scope="host"),
)
