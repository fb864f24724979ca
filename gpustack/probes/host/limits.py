"""Limits that Kubernetes does not watch: the room of file systems in memory, the tasks and open files of the units of
containerd and the kubelet, and what the kernel of a host has of each thing at most."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.host.disk import ROOMS_FUNCTION, Room, parse_room
from gpustack.probes.parsing import parse_integer
from gpustack.probes.sections import index_sections, split_sections

LIMITS_OF_UNITS = ("TasksMax", "LimitNOFILE")


@dataclass(frozen=True)
class LimitedUnit:
    """Hold how much of a limit of systemd a unit uses, such as its TasksMax."""

    name: str
    limit: str
    usage: int
    maximum: int


@dataclass(frozen=True)
class KernelLimit:
    """Hold how much of a limit of the kernel a host uses. `name` is the sysctl, or `memory-cgroups`."""

    name: str
    usage: int
    maximum: int


@dataclass(frozen=True)
class Limits:
    """Hold the free room by path, the units by their limits, and the limits of the kernel, which older recordings lack.
    A limit that is not set has none."""

    rooms: Mapping[str, Room]
    units: tuple[LimitedUnit, ...]
    kernel: tuple[KernelLimit, ...] = ()


def parse_limits(answer: Answer) -> Limits:
    """Parse the limits. Raise KeyError or ValueError where the answer has another shape."""
    parts = index_sections(split_sections(answer.stdout))
    rooms = {path: parse_room(*numbers) for path, *numbers in (line.split(" ") for line in parts["rooms"])}
    units = tuple(usage for line in parts["units"] if (usage := parse_usage(line)))
    return Limits(rooms, units, tuple(map(parse_kernel_limit, parts.get("kernel", ()))))


def parse_kernel_limit(line: str) -> KernelLimit:
    name, usage, maximum = line.split(" ")
    return KernelLimit(name, parse_integer(usage), parse_integer(maximum))


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
    manual_command="df -k /run /tmp; systemctl show -p TasksCurrent,TasksMax containerd; sysctl -a",
)
