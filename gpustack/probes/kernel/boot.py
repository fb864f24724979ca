"""Modules that a boot would load, and whether the running kernel still has its modules."""

from dataclasses import dataclass
from typing import Literal

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.sections import parse_sections

Folder = Literal["whole", "empty", "none"]


@dataclass(frozen=True)
class Boot:
    """Hold the kernels of a host.

    `release` is the running kernel, `folder` that of its modules; `other_kernels` have their modules on the host too.
    `named_modules` are those that files of modules-load.d name, `builtin` those that the kernel has in itself.
    """

    release: str
    folder: Folder
    other_kernels: tuple[str, ...]
    named_modules: frozenset[str]
    builtin: frozenset[str]


def parse_boot(answer: Answer) -> Boot:
    """Parse the kernels. Raise ValueError where the answer has another shape."""
    (kernel,), other_kernels, named_modules, builtin = parse_sections(
        answer.stdout, "kernel", "others", "named", "builtin"
    )
    release, folder = kernel.split(" ")
    kinds: dict[str, Folder] = {"whole": "whole", "empty": "empty", "none": "none"}
    return Boot(
        release,
        kinds[folder],
        tuple(other_kernels),
        frozenset(line.strip() for line in named_modules),
        frozenset(builtin),
    )


# modules-load.d(5); /etc/modules is Debian's name for one of its files.
BOOT = Probe(
    "kernel.boot", Lines(read_script(__file__, "boot.sh")), parse_boot, manual_command="uname -r; ls /lib/modules"
)
