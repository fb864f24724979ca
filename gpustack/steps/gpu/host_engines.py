"""The DCGM host engine that measures the GPUs of a host: the exporter's own, one in a pod beside it, or the host's.

NVIDIA does not support two of them on one host (NVIDIA/DCGM issue 108). The profiling fields certainly fail: on GPUs
before Hopper only one process can use the hardware behind them (NVIDIA/dcgm-exporter issues 7 and 61); from Hopper on
the driver itself measures them. All other fields can be read next to another engine.
"""

import re
from collections.abc import Mapping
from typing import Any

from gpustack.ask.judge import Result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import Command, Prose, join_hints
from gpustack.probes.gpu.host_engines import EVERY_ADDRESS, HOST_ENGINES, HostEngine, HostEngines
from gpustack.steps.gpu.hosts import build_hosts_result, count_host_gpus

CORE_PACKAGES = ("datacenter-gpu-manager-4-core", "datacenter-gpu-manager")
# By the exporter's own version, the versions of DCGM that it was tested with beside the one in its tag: NVIDIA's DCGM
# Exporter release notes, 4.9.0. That of other exporters is their tag's first half ("Install DCGM Exporter").
ALSO_TESTED = {"4.9.0": ("4.7.0", "4.7.1")}
TAG = re.compile(r"(\d+\.\d+\.\d+)-(\d+\.\d+\.\d+)(-.*)?")


def host_engine(view: View) -> Result | None:
    """The exporter's DCGM host engine is the only one that runs on a host with GPUs. Another one runs as
    nvidia-dcgm.service of the DCGM packages, or was started by hand. One in a pod does not count. With gpu.dcgm: host
    it is the other way round: one runs on every host with GPUs, at the address of gpu.metrics.engine.

    On GPUs before Hopper only one process can use the profiling counters, and one of the two fails (`gpustack explain
    mon-dcgm-profiling-module-error`). There are two solutions. Stop it permanently: users of dcgmi there then start an
    engine themselves, or use that of gpu.dcgm: standalone, by `kubectl exec`. Or use it, with gpu.dcgm: host.
    """
    engines_by_host = {host: view.select_host(host)[HOST_ENGINES] for host in count_host_gpus(view)}
    if view.spec.gpu.dcgm == "host":
        return find_missing_engines(view, engines_by_host)
    actual_states = {host: describe_engines(engines) for host, engines in engines_by_host.items() if engines.running}
    units = sorted({engine.unit for engines in engines_by_host.values() for engine in engines.running})
    stops = dict.fromkeys(build_stop_command(unit) for unit in units)
    hint = join_hints(*stops, note="on that host; or use it, where every host with GPUs has one: gpu.dcgm: host")
    return build_hosts_result("DCGM host engines other than the exporter's", "none", actual_states, "operator", hint)


def find_missing_engines(view: View, engines_by_host: dict[str, HostEngines]) -> Result | None:
    address = view.spec.gpu.metrics.engine
    port = address.rpartition(":")[2]
    actual_states = {
        host: describe_engines(engines) or "none"
        for host, engines in engines_by_host.items()
        if not any(serves_local_port(engine, port) for engine in engines.running)
    }
    hint = Command(
        "systemctl", "enable", "--now", "nvidia-dcgm", note="on that host; or without them: gpu.dcgm: standalone"
    )
    return build_hosts_result("DCGM host engine", f"at {address}", actual_states, "operator", hint)


def serves_local_port(engine: HostEngine, port: str) -> bool:
    place, _, engine_port = engine.address.rpartition(":")
    return engine_port == port and place in (*EVERY_ADDRESS, "127.0.0.1", "[::1]")


def describe_engines(engines: HostEngines) -> str:
    """Describe the running engines, their addresses, and the version of DCGM if it comes from a package."""
    words = [f"{engine.unit} ({engine.address or 'no TCP port'})" for engine in engines.running]
    version = find_dcgm_version(engines)
    return ", ".join(words) + (f", DCGM {version}" if version and words else "")


def find_dcgm_version(engines: HostEngines) -> str:
    """Find the version of DCGM's package; empty without one."""
    return next((engines.packages[name] for name in CORE_PACKAGES if name in engines.packages), "")


def build_stop_command(unit: str) -> Command:
    """Build the command that stops an engine. A process without a service is stopped by the person who started it."""
    if unit.endswith(".service"):
        return Command("systemctl", "disable", "--now", unit.removesuffix(".service"))
    return Command("nv-hostengine", "--term")


def engine_pair(view: View) -> Result | None:
    """The exporter and a host engine of another image or package are of a pair that NVIDIA tested: the first half of
    the exporter's tag is the engine's version. Others may work, and are not supported; DCGM 4.7.1 talks to no older one
    (NVIDIA, DCGM Exporter release notes). The exporter's own engine always fits."""
    of_hosts = view.spec.gpu.dcgm == "host"
    if not (of_hosts or has_engine_pod(view)):
        return None
    exporter = select_image_tag(view, "dcgmExporter", "dcgm-exporter")
    tag = TAG.fullmatch(exporter)
    if tag is None:
        raise FactUnavailable(f"the tag {exporter} does not say with which DCGM the exporter was tested")
    tested_versions = tuple(dict.fromkeys((tag[1], *ALSO_TESTED.get(tag[2], ()))))
    subject, expected_versions = f"DCGM beside dcgm-exporter {exporter}", " or ".join(tested_versions)
    if of_hosts:
        untested_versions = {
            host: version for host, version in map_dcgm_versions(view).items() if version not in tested_versions
        }
        package = f"{CORE_PACKAGES[0]}=1:{tag[1]}-1"
        install = Command(
            "apt-get", "install", package, note="on that host; or gpu.dcgm: standalone, and no engine there"
        )
        return build_hosts_result(subject, expected_versions, untested_versions, "operator", install)
    version = select_image_tag(view, "dcgm", "dcgm").partition("-")[0]
    hint = Prose(
        "dcgm.version and dcgmExporter.version in your values: the first half of the exporter's is the other's"
    )
    if version in tested_versions:
        return None
    return Result(subject, expected_versions, version, cure="operator", hint=hint)


def has_engine_pod(view: View) -> bool:
    """Tell whether a pod beside the exporter is the host engine."""
    return bool(find_operand_values(view, "dcgm").get("enabled", view.spec.gpu.dcgm == "standalone"))


def select_image_tag(view: View, operand: str, component: str) -> str:
    """Select the tag of the image of an operand."""
    return str(find_operand_values(view, operand).get("version") or view.versions.components[component])


def find_operand_values(view: View, operand: str) -> Mapping[str, Any]:
    """Find the operator's own values for an operand of the GPU Operator; without it they do not count."""
    if view.spec.gpu.stack != "operator":
        return {}
    operand_values: Mapping[str, Any] | None = view.snapshot.inventory.values.get(view.spec.gpu.release, {}).get(
        operand
    )
    return operand_values or {}


def map_dcgm_versions(view: View) -> dict[str, str]:
    """Map the hosts that run an engine to its version."""
    engines_by_host = {host: view.select_host(host)[HOST_ENGINES] for host in count_host_gpus(view)}
    versions = {
        host: find_dcgm_version(engines).partition("-")[0]
        for host, engines in engines_by_host.items()
        if engines.running
    }
    if unclear_hosts := [host for host, version in versions.items() if not version]:
        raise FactUnavailable(f"no package of DCGM on {format_value(unclear_hosts)}; there: nv-hostengine --version")
    return versions
