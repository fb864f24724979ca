"""Checks of step gpu-driver for packages: their source, which are installed, and that nothing changes their version."""

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Prose, join_hints
from gpustack.config.resolution import resolve_driver_version
from gpustack.probes.gpu.driver import GPU_DRIVER
from gpustack.probes.gpu.packages import GPU_GUARD, GPU_KERNELS, GPU_PACKAGES, GPU_REPOSITORY
from gpustack.probes.host.system import OS
from gpustack.steps.apt_repository import find_repository_mismatch
from gpustack.steps.gpu.mode import (
    DEBIAN_PACKAGES,
    LIBRARIES,
    MODULE,
    MODULES,
    list_expected_packages,
    uses_driver_mode,
)
from gpustack.steps.step import check_where

# Beginnings of names, as unattended-upgrades compares them.
EXCLUDED_PREFIXES = ("nvidia-", "libnvidia-", "libcuda", "firmware-nvidia")
UPGRADE = Command("gpustack", "explain", "gpu-driver")


def other_drivers(view: View) -> Result | None:
    """Drivers from other sources do not conflict: NVIDIA's .run installer, the distribution's packages, or, if the
    operator installs the driver, packages on the host. gpustack never removes any of these."""
    if not uses_driver_mode(view, "host", "container"):
        return None
    names, commands = find_conflicting_packages(view), list[Command]()
    if names:
        commands.append(Command("apt-get", "remove", *names))
    if view[GPU_DRIVER].uninstaller:
        names, commands = (
            [*names, "the driver of the .run installer"],
            [*commands, Command("/usr/bin/nvidia-uninstall")],
        )
    if not names:
        return None
    hint = join_hints(*commands, Prose("then reboot"))
    return Result("other drivers", "none", format_value(names), "operator", hint=hint)


def find_conflicting_packages(view: View) -> list[str]:
    packages = view[GPU_PACKAGES]
    if uses_driver_mode(view, "host"):
        return [name for name in DEBIAN_PACKAGES if name in packages and view[OS].id == "debian"]
    managed_packages = {*LIBRARIES.values(), *(name for kinds in MODULES.values() for name in kinds.values())}
    return sorted(managed_packages & set(packages))


def repository(view: View) -> Result | None:
    """NVIDIA's apt repository for the operating system of the host is configured with the key that signs it and no
    other. A system for which no such key is known is rejected."""
    return find_repository_mismatch(view, "nvidia", GPU_REPOSITORY)


def version_pinned(view: View) -> Result | None:
    """The version of the driver or its branch is pinned in apt: otherwise apt mixes the newest packages with the
    requested ones."""
    version = resolve_driver_version(view.spec)
    names = [f"nvidia-driver-pinning-{part}" for part in (version, version.split(".")[0])]
    if any(name in view[GPU_PACKAGES] for name in names):
        return None
    pins = [name for name in view[GPU_PACKAGES] if name.startswith("nvidia-driver-pinning-")]
    return Result("version pin of the driver", names[0], format_value(pins))


def packages_installed(view: View) -> Result | None:
    """The libraries with nvidia-smi and the source of the kernel module for DKMS are installed; on Ubuntu also
    nvidia-persistenced, which no other package installs there."""
    missing_packages = [name for name in list_expected_packages(view) if name not in view[GPU_PACKAGES]]
    return Result("packages", "installed", f"missing: {format_value(missing_packages)}") if missing_packages else None


def version(view: View) -> Result | None:
    """The driver is installed at the version of the spec, with the type of kernel module that the spec requests."""
    names, packages = list_expected_packages(view), view[GPU_PACKAGES]
    target = resolve_driver_version(view.spec)
    mismatched_packages = [
        f"{name} {packages[name].version}" for name in names if name in packages and packages[name].version != target
    ]
    mismatched_packages += sorted(name for name in packages if MODULE.fullmatch(name) and name not in names)
    return (
        Result("driver", f"{target}, {names[1]}", format_value(mismatched_packages), "upgrade", hint=UPGRADE)
        if mismatched_packages
        else None
    )


def packages_held(view: View) -> Result | None:
    """The packages are on hold, so that a host upgrade does not move the libraries away from the loaded module."""
    if not view.spec.gpu.driver.guard:
        return None
    unheld_packages = [
        name for name in list_expected_packages(view) if (package := view[GPU_PACKAGES].get(name)) and not package.held
    ]
    return Result("packages", "held", f"not held: {format_value(unheld_packages)}") if unheld_packages else None


def unattended_upgrades(view: View) -> Result | None:
    """Unattended upgrades exclude the driver and all that belongs to it, according to the effective configuration of
    apt."""
    if not view.spec.gpu.driver.guard:
        return None
    missing_prefixes = [word for word in EXCLUDED_PREFIXES if word not in view[GPU_GUARD]]
    if not missing_prefixes:
        return None
    return Result(
        "excluded from unattended upgrades", format_value(EXCLUDED_PREFIXES), f"not {format_value(missing_prefixes)}"
    )


def next_kernel(view: View) -> Result | None:
    """The kernel for the next boot has its headers and a module, and later kernels will install their headers:
    otherwise the host has no GPUs after an upgrade and a reboot."""
    if not view.spec.gpu.driver.guard:
        return None
    next_kernel_state = view[GPU_KERNELS].next
    missing_parts = []
    if next_kernel_state and not next_kernel_state.headers:
        missing_parts.append(f"linux-headers-{next_kernel_state.release}")
    elif next_kernel_state and not next_kernel_state.module and list_expected_packages(view)[1] in view[GPU_PACKAGES]:
        missing_parts.append(f"the module for {next_kernel_state.release}")
    header_packages = [name for name in list_header_packages(view) if name not in view[GPU_KERNELS].unknown]
    missing_parts += [name for name in header_packages if name not in view[GPU_PACKAGES]]
    if missing_parts:
        return Result("packages for the next kernel", "headers and a module", f"missing: {format_value(missing_parts)}")
    return None


def list_header_packages(view: View) -> list[str]:
    """List the packages that install the headers of each new kernel: of linux-image-amd64 it is linux-headers-amd64."""
    names = (name.removeprefix("linux-image-") for name in view[GPU_PACKAGES] if name.startswith("linux-image-"))
    return sorted(f"linux-headers-{name}" for name in names if not name[:1].isdigit() and "unsigned" not in name)


CHECKS = check_where(
    lambda view: uses_driver_mode(view, "host"),
    repository, version_pinned, packages_installed, version, packages_held, unattended_upgrades, next_kernel,
)  # fmt: skip
