"""A driver that gpustack did not install: whether the operator works with it, and what may replace it."""

from gpustack.ask.judge import Result
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.command import Command, Hint, Prose, join_hints
from gpustack.probes.gpu.driver import GPU_DRIVER
from gpustack.probes.gpu.packages import GPU_GUARD, GPU_PACKAGES, UNATTENDED_UPGRADES
from gpustack.steps.gpu.count import list_gpus
from gpustack.steps.gpu.mode import choose_driver_mode, uses_driver_mode

COMPUTE_CLASS = "0302"
"""The PCI class of a GPU that only computes: those of data centres, for which NVIDIA has compatibility libraries."""
# Beginnings of the names of what a driver is made of, beside tools that work with any.
PARTS = ("libnvidia-", "nvidia-dkms", "nvidia-driver-", "nvidia-kernel-", "nvidia-open", "nvidia-smi", "nvidia-tesla",
         "nvidia-utils", "nvidia-compute", "nvidia-persistenced", "nvidia-fabricmanager", "cuda-drivers")  # fmt: skip
NO_PARTS = ("libnvidia-container", "libnvidia-egl", "nvidia-driver-pinning")


def minimum(view: View) -> Result | None:
    """A driver that gpustack did not install is new enough for the GPU Operator of the version set.

    With an older one the operator's validator never gets ready: its program needs a newer CUDA than the driver has
    ("CUDA driver version is insufficient for CUDA runtime version"), and neither plugin nor exporter start. On GPUs of
    data centres its image brings compatibility libraries, which reach further back.
    """
    if not uses_driver_mode(view, "none") or (first := find_first_branch(view)) is None:
        return None
    version = view[GPU_DRIVER].module or view[GPU_DRIVER].library
    if not version or int(version.partition(".")[0]) >= first:
        return None
    chart = view.versions.charts["gpu-operator"].version
    return Result(
        "driver", f"{first} or newer, for GPU Operator {chart}", version, "operator",
        hint=advise_newer_driver(view, first),
    )  # fmt: skip


def find_first_branch(view: View) -> int | None:
    """Find the first branch of a driver with which the operator comes up on the host; None without the operator."""
    if view.host.standalone or view.spec.gpu.stack != "operator":
        return None
    branches = view.versions.operator_drivers[view.versions.charts["gpu-operator"].version]
    # Recordings of before have no class: what is unknown is not refused.
    computes = all(device.kind in (COMPUTE_CLASS, "") for device in list_gpus(view))
    return branches["data-centre" if computes else "any"]


def advise_newer_driver(view: View, first: int) -> Hint:
    """Advise what leads on: a newer driver or, unless the spec says that there is none of ours, none at all."""
    driver_advice = Prose("install driver {} or newer on that host, and reboot it", str(first))
    packages = list_driver_parts(view)
    removal = Command("apt-get", "remove", *packages) if packages else Command("/usr/bin/nvidia-uninstall")
    if view.spec.gpu.driver.mode != "auto":
        return driver_advice
    return join_hints(driver_advice, Prose("or {} and reboot: install then brings its own", removal))


def list_driver_parts(view: View) -> list[str]:
    """List the installed packages that a driver is made of."""
    return sorted(name for name in view[GPU_PACKAGES] if name.startswith(PARTS) and not name.startswith(NO_PARTS))


def describe_owner_driver(view: View) -> str:
    """Describe a driver of the owner's that `auto` leaves alone, and what may replace it; empty where there is none,
    or where that is unknown."""
    try:
        driver = view[GPU_DRIVER]
        if view.spec.gpu.driver.mode not in ("auto", "none") or driver.installer != "others" or not driver.library:
            return ""
        if not list_gpus(view) or choose_driver_mode(view) != "none":
            return ""
        sentence = f"driver {driver.module or driver.library} is its owner's, and left alone"
        loose_parts = list_loose_parts(view)
    except FactUnavailable:
        return ""
    if not loose_parts:
        return sentence
    hold_command = Command("apt-mark", "hold", *loose_parts)
    return f"{sentence}; unattended upgrades may replace it under running pods, until a reboot: {hold_command}"


def list_loose_parts(view: View) -> list[str]:
    """List the packages of the driver that unattended upgrades may replace. Raise FactUnavailable."""
    if not view[UNATTENDED_UPGRADES]:
        return []
    excluded_prefixes, packages = view[GPU_GUARD], view[GPU_PACKAGES]
    return [
        name for name in list_driver_parts(view) if not packages[name].held and not name.startswith(excluded_prefixes)
    ]
