"""Checks of step gpu-driver for NVSwitches: without a Fabric Manager every CUDA program fails there with 802, "system
not yet initialized". Driver containers include their own."""

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Prose, join_hints
from gpustack.probes.gpu.plugin_files import PLUGIN_FILES
from gpustack.probes.host.system import OS
from gpustack.steps.gpu.count import gpus
from gpustack.steps.gpu.mode import FABRIC, driven, switched

# PCI device ids of GPUs that NVLink 5 joins: B200, GB200, B300, GB300 (the PCI ID database).
NVLINK_5 = {"2901", "2941", "3182", "31c2"}


def fabric(here: View) -> Result | None:
    """GPUs of NVLink 5 (B200, GB200, B300) have a driver container, or a running Fabric Manager installed by their
    owner: they also need NVIDIA's subnet manager (nvlsm) and the InfiniBand modules, which this step does not install.
    """
    if not driven(here, "host"):
        return None
    joined, files = sorted({one.device for one in gpus(here)} & NVLINK_5), here[PLUGIN_FILES]
    if not joined or (files and files.fabric_manager == "active"):
        return None
    manual = Prose("install nvidia-fabricmanager and nvlsm, start the former")
    way = manual if here[OS].id == "debian" else Prose("set gpu.driver.mode: container in the spec, or {}", manual)
    hint = join_hints(way, note="gpustack explain gpu-driver/fabric")
    what, found = "Fabric Manager with nvlsm", f"not running, needed by GPUs of NVLink 5 (10de:{as_text(joined)})"
    return Result(what, "active", found, "operator", hint=hint)


def fabric_manager(here: View) -> Result | None:
    """nvidia-fabricmanager is running if the bus has NVSwitches."""
    if not driven(here, "host") or not switched(here):
        return None
    files = here[PLUGIN_FILES]
    state = files.fabric_manager if files else "none"
    return None if state == "active" else Result(f"{FABRIC}.service", "active", state)
