"""DCGM's host engines that run on a host outside of pods, and DCGM's packages on it.

nv-hostengine listens on 127.0.0.1:5555 unless configured otherwise, or on a socket of the host alone (DCGM
documentation, nv-hostengine); DCGM's packages bring it as nvidia-dcgm.service. An engine in a pod is the operator's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.gpu.packages import NO_GPU, ONLY_WITH_GPU
from gpustack.probes.packages.software import parse_upstream_version

EVERY_ADDRESS = ("*", "0.0.0.0", "[::]")  # noqa: S104 - as ss(8) prints them
ENGINE = re.compile(r"engine (\S{1,255}) (\S{1,80})")
PACKAGE = re.compile(r"package (datacenter-gpu-manager[a-z0-9+.-]*) ([a-z-]+) (\S*)")


@dataclass(frozen=True)
class HostEngine:
    """Describe an engine. `unit` is the last part of its control group; `address` is empty where it listens on no TCP
    port."""

    unit: str
    address: str


@dataclass(frozen=True)
class HostEngines:
    """Hold the engines and, in `packages`, the installed packages of DCGM, version by name."""

    running: tuple[HostEngine, ...]
    packages: Mapping[str, str]


def parse_host_engines(answer: Answer) -> HostEngines:
    """Parse lines `engine UNIT ADDRESS` and `package NAME STATUS VERSION`. Raise ValueError where a line is another
    one."""
    if answer.stdout == f"{NO_GPU}\n":
        return HostEngines((), {})
    running_engines, packages = set(), {}
    for line in answer.stdout.splitlines():
        if match := ENGINE.fullmatch(line):
            running_engines.add((match[1], "" if match[2] == "-" else match[2]))
        elif match := PACKAGE.fullmatch(line):
            if match[2] == "installed":
                packages[match[1]] = parse_upstream_version(match[3])
        else:
            raise ValueError(line[:80])
    return HostEngines(tuple(HostEngine(*engine) for engine in sorted(running_engines)), packages)


HOST_ENGINES = Probe(
    "gpu.host-engines",
    Lines(ONLY_WITH_GPU + read_script(__file__, "host_engines.sh")),
    parse_host_engines,
    manual_command="pgrep -a nv-hostengine; systemctl status nvidia-dcgm; ss -ltnp",
)
