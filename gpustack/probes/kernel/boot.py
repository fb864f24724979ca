"""What a boot would load, and whether the running kernel still has its modules."""

from dataclasses import dataclass
from typing import Literal

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.sections import read_sections

Folder = Literal["whole", "empty", "none"]


@dataclass(frozen=True)
class Boot:
    """`release` is the running kernel, `folder` that of its modules; `others` are kernels that have theirs. `named` are
    modules that files of modules-load.d name, `builtin` those that the kernel has in itself."""

    release: str
    folder: Folder
    others: tuple[str, ...]
    named: frozenset[str]
    builtin: frozenset[str]


def boot(answer: Answer) -> Boot:
    """Raises ValueError for an answer of another shape."""
    (kernel,), others, named, builtin = read_sections(answer.out, "kernel", "others", "named", "builtin")
    release, folder = kernel.split(" ")
    kinds: dict[str, Folder] = {"whole": "whole", "empty": "empty", "none": "none"}
    return Boot(release, kinds[folder], tuple(others), frozenset(line.strip() for line in named), frozenset(builtin))


# modules-load.d(5); /etc/modules is Debian's name for one of its files.
BOOT = Probe(
    "kernel.boot",
    Lines(read_script(__file__, "boot.sh")),
    boot,
    like="uname -r; ls /lib/modules",
)
