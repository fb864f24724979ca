"""The programs that measure and watch a host without Kubernetes: their packages and units, and what runs.

The command line that counts is that of the running process; of its words only those that gpustack sets are told, and a
question mark for each other one. `mine` are units with our drop-in.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpustack.ask.probe import Answer, Lines, Probe
from gpustack.ask.script_file import read_script
from gpustack.probes.packages.software import Package
from gpustack.probes.sections import named, sections

DCGM = ("datacenter-gpu-manager-4-core", "datacenter-gpu-manager-4-proprietary", "datacenter-gpu-manager-exporter")
PACKAGES = (*DCGM, "prometheus-node-exporter", "prometheus", "prometheus-alertmanager")
ENGINE, GPU_EXPORTER = "nvidia-dcgm", "nvidia-dcgm-exporter"
NODE_EXPORTER, PROMETHEUS, ALERTMANAGER = "prometheus-node-exporter", "prometheus", "prometheus-alertmanager"
PORTS = {PROMETHEUS: 9090, ALERTMANAGER: 9093}
UNITS = (ENGINE, GPU_EXPORTER, NODE_EXPORTER, PROMETHEUS, ALERTMANAGER)
DROP_IN = "/etc/systemd/system/{}.service.d/gpustack.conf"
WORDS = (
    *(f"/usr/bin/{name}" for name in ("dcgm-exporter", NODE_EXPORTER, PROMETHEUS, ALERTMANAGER)),
    *(f"--{flag}=*" for flag in (
        "collectors", "address", "remote-hostengine-info", "collect-interval", "devices", "config.file", "storage.path",
        "storage.tsdb.path", "storage.tsdb.retention.time", "storage.tsdb.retention.size", "web.listen-address",
        "cluster.listen-address",
    )),
)  # fmt: skip
NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+")


@dataclass(frozen=True)
class Program:
    """`command` has the words of its main process that gpustack sets, `?` for each other, empty where none runs."""

    active: bool
    enabled: bool
    mine: bool
    command: str


@dataclass(frozen=True)
class Programs:
    """`packages` are installed ones by name, `units` those that exist. `secrets` are receivers of alerts, by name
    whether the host has what our file holds."""

    packages: Mapping[str, Package]
    units: Mapping[str, Program]
    secrets: Mapping[str, bool]


def programs(answer: Answer) -> Programs:
    """Raises ValueError or KeyError for an answer of another shape."""
    parts = named(sections(answer.out))
    packages = {}
    for line in parts["packages"]:
        name, want, status, version = line.split(" ")
        if not NAME.fullmatch(name):
            raise ValueError(line[:80])
        if status == "installed":
            packages[name] = Package(version, held=want == "hold")
    units = dict(filter(None, map(unit, parts["units"])))
    secrets = {
        name: {"same": True, "other": False}[word] for name, word in (line.split(" ") for line in parts["secrets"])
    }
    return Programs(packages, units, secrets)


def unit(line: str) -> tuple[str, Program] | None:
    """Of `NAME LOAD ACTIVE ENABLED MINE COMMAND…`."""
    name, load, active, enabled, mine, *command = line.split(" ", 5)
    if name not in UNITS or mine not in ("yes", "no"):
        raise ValueError(line[:80])
    if load != "loaded":
        return None
    return name, Program(active == "active", enabled == "enabled", mine == "yes", "".join(command))


SCRIPT = read_script(__file__, "units.sh").replace("WORDS", " | ".join(WORDS))
PROGRAMS = Probe(
    "standalone.programs",
    Lines(SCRIPT.replace("PACKAGES", " ".join(PACKAGES)).replace("UNITS", " ".join(UNITS))),
    programs,
    like=f"systemctl status {' '.join(UNITS)}",
)
