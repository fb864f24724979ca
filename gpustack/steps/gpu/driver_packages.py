"""Checks of step gpu-driver for packages: their source, which are installed, and that nothing changes their version."""

import re

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Command, Prose, join_hints
from gpustack.config.resolved import driver_version_of
from gpustack.probes.gpu.driver import GPU_DRIVER
from gpustack.probes.gpu.packages import GPU_GUARD, GPU_KERNELS, GPU_PACKAGES, GPU_REPOSITORY
from gpustack.probes.host.system import OS
from gpustack.steps.apt_repository import repository_mismatch
from gpustack.steps.gpu.mode import LIBRARIES, MODULES, driven, wanted

# Debian's own packages of a driver: NVIDIA's conflict with them.
DEBIAN = ("nvidia-smi", "nvidia-open-kernel-dkms", "nvidia-tesla-driver", "nvidia-tesla-kernel-dkms")
# Any package with a module for DKMS, of NVIDIA's repository or of a distribution.
MODULE = re.compile(r"nvidia-(dkms(-\d+)?(-server)?(-open)?|kernel(-open)?-dkms)")
# Beginnings of names, as unattended-upgrades compares them.
LEFT_ALONE = ("nvidia-", "libnvidia-", "libcuda", "firmware-nvidia")
UPGRADE = Command("gpustack", "explain", "gpu-driver")


def other_drivers(here: View) -> Result | None:
    """No driver from another source conflicts: NVIDIA's .run installer, the distribution's packages, or, if the
    operator installs the driver, packages on the host. gpustack never removes any of these."""
    if not driven(here, "host", "container"):
        return None
    names, ways = rivals(here), list[Command]()
    if names:
        ways.append(Command("apt-get", "remove", *names))
    if here[GPU_DRIVER].uninstaller:
        names, ways = [*names, "the driver of the .run installer"], [*ways, Command("/usr/bin/nvidia-uninstall")]
    if not names:
        return None
    hint = join_hints(*ways, Prose("then reboot"), note="or keep it: gpu.driver.mode: none in the spec")
    return Result("other drivers", "none", as_text(names), "operator", hint=hint)


def rivals(here: View) -> list[str]:
    there = here[GPU_PACKAGES]
    if driven(here, "host"):
        return [name for name in DEBIAN if name in there and here[OS].id == "debian"]
    ours = {*LIBRARIES.values(), *(name for kinds in MODULES.values() for name in kinds.values())}
    return sorted(ours & set(there))


def repository(here: View) -> Result | None:
    """NVIDIA's apt repository for the operating system of the host is configured with the key that signs it and no
    other. A system for which no such key is known is rejected."""
    return repository_mismatch(here, "nvidia", GPU_REPOSITORY) if driven(here, "host") else None


def pinned(here: View) -> Result | None:
    """apt is pinned to the driver's version or to its branch: otherwise it mixes the newest packages with the requested
    ones."""
    if not driven(here, "host"):
        return None
    version = driver_version_of(here.spec)
    names = [f"nvidia-driver-pinning-{part}" for part in (version, version.split(".")[0])]
    if any(name in here[GPU_PACKAGES] for name in names):
        return None
    found = [name for name in here[GPU_PACKAGES] if name.startswith("nvidia-driver-pinning-")]
    return Result("version pin of the driver", names[0], as_text(found))


def installed(here: View) -> Result | None:
    """The libraries with nvidia-smi and the source of the kernel module for DKMS are installed; on Ubuntu also
    nvidia-persistenced, which no other package installs there."""
    if not driven(here, "host"):
        return None
    missing = [name for name in wanted(here) if name not in here[GPU_PACKAGES]]
    return Result("packages", "installed", f"missing: {as_text(missing)}") if missing else None


def version(here: View) -> Result | None:
    """The driver is installed at the version of the spec, with the type of kernel module that the spec requests."""
    if not driven(here, "host"):
        return None
    names, there = wanted(here), here[GPU_PACKAGES]
    target = driver_version_of(here.spec)
    wrong = [f"{name} {there[name].version}" for name in names if name in there and there[name].version != target]
    wrong += sorted(name for name in there if MODULE.fullmatch(name) and name not in names)
    return Result("driver", f"{target}, {names[1]}", as_text(wrong), "upgrade", hint=UPGRADE) if wrong else None


def held(here: View) -> Result | None:
    """The packages are on hold, so that a host upgrade does not move the libraries away from the loaded module."""
    if not driven(here, "host") or not here.spec.gpu.driver.guard:
        return None
    loose = [name for name in wanted(here) if (found := here[GPU_PACKAGES].get(name)) and not found.held]
    return Result("packages", "held", f"not held: {as_text(loose)}") if loose else None


def unattended_upgrades(here: View) -> Result | None:
    """Unattended upgrades exclude the driver and all that belongs to it, according to the effective configuration of
    apt."""
    if not driven(here, "host") or not here.spec.gpu.driver.guard:
        return None
    missing = [word for word in LEFT_ALONE if word not in here[GPU_GUARD]]
    if not missing:
        return None
    return Result("excluded from unattended upgrades", as_text(LEFT_ALONE), f"not {as_text(missing)}")


def next_kernel(here: View) -> Result | None:
    """The kernel for the next boot has its headers and a module, and later kernels will install their headers:
    otherwise the host has no GPUs after an upgrade and a reboot."""
    if not driven(here, "host") or not here.spec.gpu.driver.guard:
        return None
    coming = here[GPU_KERNELS].next
    lacking = []
    if coming and not coming.headers:
        lacking.append(f"linux-headers-{coming.release}")
    elif coming and not coming.module and wanted(here)[1] in here[GPU_PACKAGES]:
        lacking.append(f"the module for {coming.release}")
    known = [name for name in followers(here) if name not in here[GPU_KERNELS].unknown]
    lacking += [name for name in known if name not in here[GPU_PACKAGES]]
    return (
        Result("packages for the next kernel", "headers and a module", f"missing: {as_text(lacking)}")
        if lacking
        else None
    )


def followers(here: View) -> list[str]:
    """Packages that bring the headers of each new kernel: of linux-image-amd64 it is linux-headers-amd64."""
    names = (name.removeprefix("linux-image-") for name in here[GPU_PACKAGES] if name.startswith("linux-image-"))
    return sorted(f"linux-headers-{name}" for name in names if not name[:1].isdigit() and "unsigned" not in name)


CHECKS = (repository, pinned, installed, version, held, unattended_upgrades, next_kernel)
