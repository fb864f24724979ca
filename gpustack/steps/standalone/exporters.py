"""Exporters of a host without Kubernetes (group gpu_standalone): the metrics of its GPUs and of the host itself.

It installs DCGM's host engine (nvidia-dcgm.service) and dcgm-exporter from NVIDIA's CUDA repository, a pair that NVIDIA
tested, held at its versions, and node-exporter from the distribution. The exporters listen on 127.0.0.1 only; a drop-in
of their unit has the command line. On a host without GPUs only node-exporter is installed. What somebody else set up is
left alone and reported.

Settings: monitoring.enabled, monitoring.node_exporter_port, gpu.metrics. Sources: docs.nvidia.com, Install DCGM and
Install DCGM Exporter; the unit in NVIDIA/dcgm-exporter packaging/; docs/standalone.md.
"""

from dataclasses import replace

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.probes.gpu.devices import GPU_DEVICES
from gpustack.probes.gpu.host_engines import HOST_ENGINES
from gpustack.probes.gpu.packages import GPU_REPOSITORY
from gpustack.probes.host.system import HOSTNAME, OS
from gpustack.probes.packages.dpkg import SOURCES
from gpustack.probes.standalone.answers import EXPORTED
from gpustack.probes.standalone.units import DCGM, ENGINE, NODE_EXPORTER, PROGRAMS
from gpustack.steps.apt_repository import repository_mismatch
from gpustack.steps.gpu.count import gpu_count, gpus
from gpustack.steps.gpu.exporter import count_watched
from gpustack.steps.gpu.host_engines import answers_locally
from gpustack.steps.standalone.files import Part, exporters
from gpustack.steps.standalone.units import engine_version, exporter_version, others_units, wrong_commands
from gpustack.steps.step import Step


def applies(inventory: Inventory, host: Host) -> bool:
    return host.standalone and inventory.spec.monitoring.enabled


def versions(here: View) -> dict[str, str]:
    """Of DCGM's packages, as apt and dpkg have them, without the packaging revision; none without GPUs."""
    if not gpus(here):
        return {}
    engine = f"1:{engine_version(here).partition('-')[0]}"
    return {DCGM[0]: engine, DCGM[1]: engine, DCGM[2]: exporter_version(here)}


def others(here: View) -> Result | None:
    """No exporter of somebody else is there: gpustack would change its settings."""
    return others_units(here, exporters(here))


def repository(here: View) -> Result | None:
    """NVIDIA's apt repository is configured with the key that signs it and no other, if the host has GPUs."""
    return repository_mismatch(here, "nvidia", GPU_REPOSITORY) if gpus(here) else None


def installed(here: View) -> Result | None:
    """The packages are installed, and DCGM's are on hold: engine and exporter are a pair."""
    found, wanted = here[PROGRAMS].packages, (*versions(here), NODE_EXPORTER)
    wrong = [f"no {name}" for name in wanted if name not in found]
    wrong += [f"{name} not held" for name in versions(here) if name in found and not found[name].held]
    return Result("packages", "installed, DCGM's held", as_text(wrong)) if wrong else None


def pair(here: View) -> Result | None:
    """Engine and exporter have the versions that NVIDIA tested together."""
    found = here[PROGRAMS].packages
    wrong = {
        name: found[name].version
        for name, version in versions(here).items()
        if name in found and found[name].version.rpartition("-")[0] != version
    }
    packages = [f"{name}={version}-*" for name, version in versions(here).items()]
    hint = Command("apt-get", "install", "--allow-change-held-packages", *packages)
    words = [f"{name} {version}" for name, version in wrong.items()]
    wanted = f"DCGM {engine_version(here)}, exporter {exporter_version(here)}"
    return Result("versions", wanted, as_text(words), "upgrade", hint=hint) if wrong else None


def engine(here: View) -> Result | None:
    """DCGM's host engine runs, listens where the exporter asks it, and starts at boot."""
    if not gpus(here):
        return None
    address = here.spec.gpu.metrics.engine
    unit, running = here[PROGRAMS].units.get(ENGINE), here[HOST_ENGINES].running
    if not any(answers_locally(one, address.rpartition(":")[2]) for one in running):
        down = Result("DCGM host engine", f"listening at {address}", "nothing", fault="standalone-engine-down")
        return down if unit else replace(down, fault="")
    return None if unit and unit.enabled else Result(f"{ENGINE}.service", "enabled at boot", "not enabled")


def commands(here: View) -> Result | None:
    """The exporters run with the settings of the spec, and start at boot."""
    return wrong_commands(here, exporters(here))


def gpu_series(here: View) -> Result | None:
    """dcgm-exporter exports series of every GPU."""
    if not gpus(here):
        return None
    wanted, found = count_watched(here.spec.gpu.metrics.devices, gpu_count(here)), here[EXPORTED].gpus
    if found == wanted:
        return None
    text = "no answer" if found is None else str(found)
    down = Result("GPUs of dcgm-exporter", str(wanted), text, fault="standalone-exporter-down")
    return down if found is None and here[HOST_ENGINES].running else replace(down, fault="")


def node_series(here: View) -> Result | None:
    """node-exporter exports series of the host."""
    return None if here[EXPORTED].node else Result("node-exporter", "series of the host", "no answer")


def wanted(here: View) -> Part:
    """What the role reads. Raises FactUnavailable."""
    held = " ".join(f"{name}={version}-*" for name, version in versions(here).items())
    return Part(exporters(here), NODE_EXPORTER, held, (ENGINE,) if gpus(here) else ())


STEP = Step(
    "standalone-exporters",
    scope="host",
    probes=(OS, HOSTNAME, SOURCES, GPU_DEVICES, GPU_REPOSITORY, HOST_ENGINES, PROGRAMS, EXPORTED),
    checks=(others, repository, installed, pair, engine, commands, gpu_series, node_series),
    needs=("gpu-driver",),
    settle=60,
    applies=applies,
    interrupts="an exporter whose settings change restarts; its series pause",
)
