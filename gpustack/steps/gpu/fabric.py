"""Checks of step gpu-driver for NVSwitches.

Without a Fabric Manager every CUDA program fails there with 802, "system not yet initialized". Driver containers
include their own.
"""

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Prose, join_hints
from gpustack.probes.gpu.plugin_files import PLUGIN_FILES
from gpustack.steps.gpu.count import list_gpus
from gpustack.steps.gpu.mode import FABRIC, has_nvswitches, uses_driver_mode

# PCI device ids of GPUs that NVLink 5 joins: B200, GB200, B300, GB300 (the PCI ID database).
NVLINK_5 = {"2901", "2941", "3182", "31c2"}


def fabric(view: View) -> Result | None:
    """GPUs of NVLink 5 (B200, GB200, B300) have a driver container, or a running Fabric Manager installed by their
    owner: they also need NVIDIA's subnet manager (nvlsm) and the InfiniBand modules, which this step does not install.
    """
    if not uses_driver_mode(view, "host"):
        return None
    nvlink_devices, files = list_nvlink_devices(view), view[PLUGIN_FILES]
    if not nvlink_devices or (files and files.fabric_manager == "active"):
        return None
    manual = Prose("install nvidia-fabricmanager and nvlsm, start the former")
    hint = join_hints(manual, note="gpustack explain gpu-driver/fabric")
    subject, actual = (
        "Fabric Manager with nvlsm",
        f"not running, needed by GPUs of NVLink 5 (10de:{format_value(nvlink_devices)})",
    )
    return Result(subject, "active", actual, "operator", hint=hint)


def list_nvlink_devices(view: View) -> list[str]:
    """List the PCI device ids of the host's GPUs of NVLink 5."""
    return sorted({device.device for device in list_gpus(view)} & NVLINK_5)


def fabric_manager(view: View) -> Result | None:
    """The service nvidia-fabricmanager is running if the bus has NVSwitches."""
    if not uses_driver_mode(view, "host") or not has_nvswitches(view):
        return None
    files = view[PLUGIN_FILES]
    state = files.fabric_manager if files else "none"
    return None if state == "active" else Result(f"{FABRIC}.service", "active", state)
