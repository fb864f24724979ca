"""Exporters of a host without Kubernetes (group gpu_standalone): the metrics of its GPUs and of the host itself.

It installs DCGM's host engine (nvidia-dcgm.service) and dcgm-exporter from NVIDIA's CUDA repository, a pair that NVIDIA
tested, held at its versions, and node-exporter from the distribution. The exporters listen on 127.0.0.1 only; a drop-in
of their unit has the command line. On a host without GPUs only node-exporter is installed. What somebody else set up is
left alone and reported.

Settings: monitoring.enabled, monitoring.node_exporter_port, gpu.metrics. Sources: docs.nvidia.com, Install DCGM and
Install DCGM Exporter; the unit in NVIDIA/dcgm-exporter packaging/; docs/standalone.md.
"""

from dataclasses import replace

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.host_engines import HOST_ENGINES
from gpustack.probes.gpu.packages import GPU_REPOSITORY
from gpustack.probes.host.system import HOSTNAME, OS
from gpustack.probes.packages.dpkg import SOURCES
from gpustack.probes.standalone.answers import EXPORTER_STATE
from gpustack.probes.standalone.units import DCGM, ENGINE, NODE_EXPORTER, PROGRAMS
from gpustack.steps.apt_repository import find_repository_mismatch
from gpustack.steps.gpu.count import count_gpus, list_gpus
from gpustack.steps.gpu.exporter import count_watched_gpus
from gpustack.steps.gpu.host_engines import serves_local_port
from gpustack.steps.standalone.files import Installation, build_exporters
from gpustack.steps.standalone.units import (
    find_command_mismatch,
    find_foreign_units,
    select_engine_version,
    select_exporter_version,
)
from gpustack.steps.step import Step


def list_package_versions(view: View) -> dict[str, str]:
    """List the versions of DCGM's packages, as apt and dpkg have them, without the packaging revision; none without
    GPUs."""
    if not list_gpus(view):
        return {}
    engine = f"1:{select_engine_version(view).partition('-')[0]}"
    return {DCGM[0]: engine, DCGM[1]: engine, DCGM[2]: select_exporter_version(view)}


def units_owned(view: View) -> Result | None:
    """The exporters on the host are those of gpustack, which would change the settings of any others."""
    return find_foreign_units(view, build_exporters(view))


def repository(view: View) -> Result | None:
    """The apt repository of NVIDIA is configured with the key that signs it and no other, if the host has GPUs."""
    return find_repository_mismatch(view, "nvidia", GPU_REPOSITORY) if list_gpus(view) else None


def packages_installed(view: View) -> Result | None:
    """The packages are installed, and DCGM's are on hold: engine and exporter are a pair."""
    packages, expected_names = view[PROGRAMS].packages, (*list_package_versions(view), NODE_EXPORTER)
    differences = [f"no {name}" for name in expected_names if name not in packages]
    differences += [
        f"{name} not held" for name in list_package_versions(view) if name in packages and not packages[name].held
    ]
    return Result("packages", "installed, DCGM's held", format_value(differences)) if differences else None


def pair(view: View) -> Result | None:
    """Engine and exporter have the versions that NVIDIA tested together."""
    actual_packages = view[PROGRAMS].packages
    untested_versions = {
        name: actual_packages[name].version
        for name, version in list_package_versions(view).items()
        if name in actual_packages and actual_packages[name].version.rpartition("-")[0] != version
    }
    packages = [f"{name}={version}-*" for name, version in list_package_versions(view).items()]
    hint = Command("apt-get", "install", "--allow-change-held-packages", *packages)
    words = [f"{name} {version}" for name, version in untested_versions.items()]
    expected_versions = f"DCGM {select_engine_version(view)}, exporter {select_exporter_version(view)}"
    return (
        Result("versions", expected_versions, format_value(words), "upgrade", hint=hint) if untested_versions else None
    )


def engine(view: View) -> Result | None:
    """The host engine of DCGM runs, listens where the exporter asks it, and starts at boot."""
    if not list_gpus(view):
        return None
    address = view.spec.gpu.metrics.engine
    unit, running_engines = view[PROGRAMS].units.get(ENGINE), view[HOST_ENGINES].running
    if not any(serves_local_port(host_engine, address.rpartition(":")[2]) for host_engine in running_engines):
        mismatch = Result("DCGM host engine", f"listening at {address}", "nothing", fault="standalone-engine-down")
        return mismatch if unit else replace(mismatch, fault="")
    return None if unit and unit.enabled else Result(f"{ENGINE}.service", "enabled at boot", "not enabled")


def commands(view: View) -> Result | None:
    """The exporters run with the settings of the spec, and start at boot."""
    return find_command_mismatch(view, build_exporters(view))


def gpu_series(view: View) -> Result | None:
    """The series of every GPU are exported by dcgm-exporter."""
    if not list_gpus(view):
        return None
    expected_count, actual_count = (
        count_watched_gpus(view.spec.gpu.metrics.devices, count_gpus(view)),
        view[EXPORTER_STATE].gpus,
    )
    if actual_count == expected_count:
        return None
    actual = "no answer" if actual_count is None else str(actual_count)
    mismatch = Result("GPUs of dcgm-exporter", str(expected_count), actual, fault="standalone-exporter-down")
    return mismatch if actual_count is None and view[HOST_ENGINES].running else replace(mismatch, fault="")


def node_series(view: View) -> Result | None:
    """The series of the host are exported by node-exporter."""
    return None if view[EXPORTER_STATE].node else Result("node-exporter", "series of the host", "no answer")


def build_installation(view: View) -> Installation:
    """Build the installation that the role reads. Raise FactUnavailable."""
    held_packages = " ".join(f"{name}={version}-*" for name, version in list_package_versions(view).items())
    return Installation(build_exporters(view), NODE_EXPORTER, held_packages, (ENGINE,) if list_gpus(view) else ())


STEP = Step(
    "standalone-exporters",
    scope="host",
    probes=(OS, HOSTNAME, SOURCES, GPU_DEVICES, GPU_REPOSITORY, HOST_ENGINES, PROGRAMS, EXPORTER_STATE),
    checks=(units_owned, repository, packages_installed, pair, engine, commands, gpu_series, node_series),
    needs=("gpu-driver",),
    settle_seconds=60,
    is_enabled=lambda inventory: inventory.spec.monitoring.enabled,
    includes_host=lambda host: host.standalone,
    interrupts="an exporter whose settings change restarts; its series pause",
)
