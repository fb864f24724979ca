"""The modules of the kernel that hold NVIDIA's driver: while one is loaded that uses it, or has uses of its own, the
driver cannot be unloaded.

Lines of /proc/modules have the name, the size, the use count and the modules that use it, each with a comma behind it
(Linux kernel/module/procfs.c). `[permanent]` among these stands for a module that nothing unloads.
"""

import re
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.parsing import parse_integer

NAME = re.compile(r"[A-Za-z0-9_]+|\[(?:permanent|unsafe)\]")


@dataclass(frozen=True)
class DriverModule:
    """Describe a module. `uses` counts the modules that use it, which are `users`, and open files and the kernel's own
    uses, which have no name."""

    name: str
    uses: int
    users: tuple[str, ...]

    @property
    def unnamed_uses(self) -> int:
        """The uses that are no module's."""
        return max(0, self.uses - len(self.users))


def parse_driver_modules(answer: Answer) -> tuple[DriverModule, ...]:
    """Parse the modules, the driver's own first. Raise ValueError for a line of another shape."""
    modules = [parse_driver_module(line) for line in answer.stdout.splitlines()]
    return tuple(sorted(modules, key=lambda module: (module.name != "nvidia", module.name)))


def parse_driver_module(line: str) -> DriverModule:
    name, uses, users = line.split(" ")
    names = tuple(filter(None, users.split(","))) if users != "-" else ()
    if unknown_words := [word for word in (name, *names) if not NAME.fullmatch(word)]:
        raise ValueError(unknown_words[0][:80])
    return DriverModule(name, parse_integer(uses), names)


DRIVER_MODULES = Probe(
    "gpu.driver-modules",
    Lines(read_script(__file__, "driver_modules.sh")),
    parse_driver_modules,
    manual_command="lsmod | grep -E '^Module|nvidia'",
)
