"""Which DCGM host engine measures the GPUs of a host: the exporter's own, one in a pod beside it, or the host's.

NVIDIA does not support two of them on one host (NVIDIA/DCGM issue 108). What certainly fails are the profiling fields:
on GPUs before Hopper only one process can use the hardware behind them (NVIDIA/dcgm-exporter issues 7 and 61); from
Hopper on the driver itself measures them. All other fields can be read next to another engine.
"""

import re
from collections.abc import Mapping
from typing import Any

from gpustack.ask.judge import Result, as_text
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import Command, Prose, join_hints
from gpustack.probes.gpu.host_engines import EVERY_ADDRESS, HOST_ENGINES, HostEngine, HostEngines
from gpustack.steps.gpu.hosts import expected, on_hosts

CORE = ("datacenter-gpu-manager-4-core", "datacenter-gpu-manager")
# By the exporter's own version, the versions of DCGM that it was tested with beside the one in its tag: NVIDIA's DCGM
# Exporter release notes, 4.9.0. That of other exporters is their tag's first half ("Install DCGM Exporter").
ALSO_TESTED = {"4.9.0": ("4.7.0", "4.7.1")}
TAG = re.compile(r"(\d+\.\d+\.\d+)-(\d+\.\d+\.\d+)(-.*)?")


def foreign_engines(here: View) -> Result | None:
    """Raises FactUnavailable if it is unknown on a host with GPUs."""
    found = {host: here.on(host)[HOST_ENGINES] for host in expected(here)}
    if here.spec.gpu.dcgm == "host":
        return missing_engines(here, found)
    wrong = {host: described(one) for host, one in found.items() if one.running}
    units = sorted({engine.unit for one in found.values() for engine in one.running})
    stops = dict.fromkeys(build_stop_command(unit) for unit in units)
    hint = join_hints(*stops, note="on that host; or use it, where every host with GPUs has one: gpu.dcgm: host")
    return on_hosts("DCGM host engines other than the exporter's", "none", wrong, "operator", hint)


def missing_engines(here: View, found: dict[str, HostEngines]) -> Result | None:
    address = here.spec.gpu.metrics.engine
    port = address.rpartition(":")[2]
    wrong = {
        host: described(one) or "none"
        for host, one in found.items()
        if not any(answers_locally(engine, port) for engine in one.running)
    }
    hint = Command(
        "systemctl", "enable", "--now", "nvidia-dcgm", note="on that host; or without them: gpu.dcgm: standalone"
    )
    return on_hosts("DCGM host engine", f"at {address}", wrong, "operator", hint)


def answers_locally(engine: HostEngine, port: str) -> bool:
    place, _, at = engine.address.rpartition(":")
    return at == port and place in (*EVERY_ADDRESS, "127.0.0.1", "[::1]")


def described(found: HostEngines) -> str:
    """The running engines, their addresses, and the version of DCGM if it comes from a package."""
    words = [f"{one.unit} ({one.address or 'no TCP port'})" for one in found.running]
    version = installed(found)
    return ", ".join(words) + (f", DCGM {version}" if version and words else "")


def installed(found: HostEngines) -> str:
    """The version of DCGM's package; empty without one."""
    return next((found.packages[name] for name in CORE if name in found.packages), "")


def build_stop_command(unit: str) -> Command:
    """A process without a service is stopped by the person who started it."""
    if unit.endswith(".service"):
        return Command("systemctl", "disable", "--now", unit.removesuffix(".service"))
    return Command("nv-hostengine", "--term")


def unpaired(here: View) -> Result | None:
    """Exporter and engine where these are two programs. Raises FactUnavailable where a version is unknown: by a tag
    that is not NVIDIA's, or on a host without DCGM's package."""
    of_hosts = here.spec.gpu.dcgm == "host"
    if not expected(here) or not (of_hosts or separate(here)):
        return None
    exporter = version_of(here, "dcgmExporter", "dcgm-exporter")
    tag = TAG.fullmatch(exporter)
    if tag is None:
        raise FactUnavailable(f"the tag {exporter} does not say with which DCGM the exporter was tested")
    tested = tuple(dict.fromkeys((tag[1], *ALSO_TESTED.get(tag[2], ()))))
    what, wanted = f"DCGM beside dcgm-exporter {exporter}", " or ".join(tested)
    if of_hosts:
        wrong = {host: version for host, version in versions_on_hosts(here).items() if version not in tested}
        package = f"{CORE[0]}=1:{tag[1]}-1"
        install = Command(
            "apt-get", "install", package, note="on that host; or gpu.dcgm: standalone, and no engine there"
        )
        return on_hosts(what, wanted, wrong, "operator", install)
    version = version_of(here, "dcgm", "dcgm").partition("-")[0]
    hint = Prose(
        "dcgm.version and dcgmExporter.version in your values: the first half of the exporter's is the other's"
    )
    return None if version in tested else Result(what, wanted, version, cure="operator", hint=hint)


def separate(here: View) -> bool:
    """Whether a pod beside the exporter is the host engine."""
    return bool(operators_value(here, "dcgm").get("enabled", here.spec.gpu.dcgm == "standalone"))


def version_of(here: View, operand: str, component: str) -> str:
    """The tag of its image."""
    return str(operators_value(here, operand).get("version") or here.versions.components[component])


def operators_value(here: View, operand: str) -> Mapping[str, Any]:
    """What the values of the person say of an operand; without NVIDIA's operator they do not count."""
    if here.spec.gpu.stack != "operator":
        return {}
    found: Mapping[str, Any] | None = here.snapshot.inventory.values.get(here.spec.gpu.release, {}).get(operand)
    return found or {}


def versions_on_hosts(here: View) -> dict[str, str]:
    """By host that runs an engine."""
    found = {host: here.on(host)[HOST_ENGINES] for host in expected(here)}
    versions = {host: installed(one).partition("-")[0] for host, one in found.items() if one.running}
    if unclear := [host for host, version in versions.items() if not version]:
        raise FactUnavailable(f"no package of DCGM on {as_text(unclear)}; there: nv-hostengine --version")
    return versions
