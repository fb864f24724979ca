"""Programs that measure and watch a host without Kubernetes: their packages and units, and the running processes.

The command line that counts is that of the running process. Only the words of it that gpustack sets are reported, and a
question mark for each other word.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.packages.software import Package
from gpustack.probes.sections import index_sections, split_sections

DCGM = ("datacenter-gpu-manager-4-core", "datacenter-gpu-manager-4-proprietary", "datacenter-gpu-manager-exporter")
PACKAGES = (*DCGM, "prometheus-node-exporter", "prometheus", "prometheus-alertmanager")
ENGINE, GPU_EXPORTER = "nvidia-dcgm", "nvidia-dcgm-exporter"
NODE_EXPORTER, PROMETHEUS, ALERTMANAGER = "prometheus-node-exporter", "prometheus", "prometheus-alertmanager"
UNITS = (ENGINE, GPU_EXPORTER, NODE_EXPORTER, PROMETHEUS, ALERTMANAGER)
DROP_IN = "/etc/systemd/system/{}.service.d/gpustack.conf"
WORDS = (
    *(f"/usr/bin/{name}" for name in ("dcgm-exporter", NODE_EXPORTER, PROMETHEUS, ALERTMANAGER)),
    *(f"--{flag}=*" for flag in (
        "collectors", "address", "remote-hostengine-info", "collect-interval", "devices", "config.file", "storage.path",
        "storage.tsdb.path", "storage.tsdb.retention.time", "storage.tsdb.retention.size", "web.listen-address",
        "cluster.listen-address",
    )),
    "--no-collector.fibrechannel",
)  # fmt: skip
NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")


@dataclass(frozen=True)
class Program:
    """Describe a program. `has_drop_in`: its unit has a drop-in of gpustack. `command` has the words of its
    main process that gpustack sets, `?` for each other word; it is empty where none runs."""

    active: bool
    enabled: bool
    has_drop_in: bool
    command: str


@dataclass(frozen=True)
class Programs:
    """Hold the programs of a host. `packages` are installed ones by name, `units` those that exist. `secrets` are
    receivers of alerts, by name whether the host has the content of the operator's file."""

    packages: Mapping[str, Package]
    units: Mapping[str, Program]
    secrets: Mapping[str, bool]


def parse_standalone_programs(answer: Answer) -> Programs:
    """Parse the programs. Raise ValueError or KeyError where the answer has another shape."""
    parts = index_sections(split_sections(answer.stdout))
    packages = {}
    for line in parts["packages"]:
        name, want, status, version = line.split(" ")
        if not NAME.fullmatch(name):
            raise ValueError(line[:80])
        if status == "installed":
            packages[name] = Package(version, held=want == "hold")
    units = dict(filter(None, map(parse_program, parts["units"])))
    secrets = {
        name: {"same": True, "other": False}[word] for name, word in (line.split(" ") for line in parts["secrets"])
    }
    return Programs(packages, units, secrets)


def parse_program(line: str) -> tuple[str, Program] | None:
    """Parse a line `NAME LOAD ACTIVE ENABLED MINE COMMAND…`."""
    name, load, active_state, enabled_state, has_drop_in, *command = line.split(" ", 5)
    if name not in UNITS or has_drop_in not in ("yes", "no"):
        raise ValueError(line[:80])
    if load != "loaded":
        return None
    return name, Program(active_state == "active", enabled_state == "enabled", has_drop_in == "yes", "".join(command))


SCRIPT = read_script(__file__, "units.sh").replace("WORDS", " | ".join(WORDS))
PROGRAMS = Probe(
    "standalone.programs",
    Lines(SCRIPT.replace("PACKAGES", " ".join(PACKAGES)).replace("UNITS", " ".join(UNITS))),
    parse_standalone_programs,
    manual_command=f"systemctl status {' '.join(UNITS)}",
)
