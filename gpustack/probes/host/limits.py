"""Limits that Kubernetes does not watch: the room of file systems in memory, and the tasks and open files of the units
of containerd and the kubelet."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.host.disk import ROOMS_FUNCTION, Room, parse_room
from gpustack.probes.parsing import parse_integer
from gpustack.probes.sections import parse_sections

LIMITS_OF_UNITS = ("TasksMax", "LimitNOFILE")


@dataclass(frozen=True)
class LimitedUnit:
    """Hold how much of a limit of systemd a unit uses, such as its TasksMax."""

    name: str
    limit: str
    usage: int
    maximum: int


@dataclass(frozen=True)
class Limits:
    """Hold the free room by path, and the units by their limits. A limit that is not set has none."""

    rooms: Mapping[str, Room]
    units: tuple[LimitedUnit, ...]


def parse_limits(answer: Answer) -> Limits:
    """Parse the limits. Raise ValueError where the answer has another shape."""
    rooms, units = parse_sections(answer.stdout, "rooms", "units")
    rooms_by_path = {path: parse_room(*numbers) for path, *numbers in (line.split(" ") for line in rooms)}
    return Limits(rooms_by_path, tuple(usage for line in units if (usage := parse_usage(line))))


def parse_usage(line: str) -> LimitedUnit | None:
    """Parse a usage; None for a limit that is `infinity` or `unlimited`, and for a unit whose tasks nobody counts."""
    words = line.split(" ")
    unit, limit, usage, maximum = (*words[:2], " ".join(words[2:-1]), words[-1])
    if limit not in LIMITS_OF_UNITS:
        raise ValueError(line)
    is_counted = usage.isdecimal() and maximum.isdecimal()
    return LimitedUnit(unit, limit, parse_integer(usage), parse_integer(maximum)) if is_counted else None


HOST_LIMITS = Probe(
    "host.limits",
    Lines(ROOMS_FUNCTION + read_script(__file__, "limits.sh")),
    parse_limits,
    manual_command="df -k /run /tmp; systemctl show -p TasksCurrent,TasksMax containerd",
)
