"""Checks of step gpu-driver for the running driver: the module, its libraries, and nvidia-smi."""

from gpustack.ask.judge import Cure, Result
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Command, Hint, Prose, join_hints
from gpustack.probes.gpu.driver import GPU_DRIVER, GPU_SMI
from gpustack.probes.gpu.packages import GPU_KERNELS, GPU_PACKAGES
from gpustack.probes.host.system import OS
from gpustack.steps.gpu.mode import driven, mode, wanted

# nvidia-smi(1), RETURN VALUE; 18 is NVML's own number.
ENDED = {
    4: "no permission",
    8: "the power cables of a GPU are not attached",
    9: "the module is not loaded",
    10: "the kernel detected an interrupt issue with a GPU",
    12: "libnvidia-ml not found",
    14: "the infoROM of a GPU is damaged",
    15: "a GPU has fallen off the bus or has become inaccessible",
    18: "driver/library version mismatch",
}


def driver_mode(here: View) -> Result | None:
    """There is a driver container for the operating system, if the driver is to run in one: none is built for Debian,
    and without the operator nothing installs one."""
    if not driven(here, "container"):
        return None
    hint = Prose("set gpu.driver.mode: auto (or host, or none) in the spec")
    if here.host.standalone:
        return Result("gpu.driver.mode", "host or none without Kubernetes", "container", "operator", hint=hint)
    if here.spec.gpu.stack == "host":
        return Result("gpu.driver.mode", "host or none with gpu.stack host", "container", "operator", hint=hint)
    if here[OS].id != "debian":
        return None
    return Result("gpu.driver.mode", "host or none on Debian", "container", "operator", hint=hint)


def secure_boot(here: View) -> Result | None:
    """With Secure Boot the module is signed with a key that the firmware accepts. Reported before anything is
    installed.

    DKMS signs what it builds on a host with a key of that host, and only a person at the console can enrol it: apt-get
    install dkms mokutil; if the key does not exist yet, dkms creates it with the first module, and on Ubuntu
    update-secureboot-policy --new-key does; mokutil --import, with the file that the hint names; reboot, and follow the
    menu. What a driver container builds is not signed at all: in that case install the driver as packages
    (gpu.driver.mode: host), or as modules signed by Ubuntu (linux-modules-nvidia-…) with gpu.driver.mode: none. If the
    module is loaded already, it is signed.
    """
    if not driven(here, "host", "container"):
        return None
    found, on_host = here[GPU_DRIVER], driven(here, "host")
    if not found.secure_boot or found.module or (found.key_enrolled and on_host):
        return None
    enrol = Command("mokutil", "--import", found.key or "/var/lib/dkms/mok.pub")
    package = Prose("set gpu.driver.mode: host in the spec and enrol DKMS's key")
    ways = Prose("{}; reboot", enrol) if on_host else package
    hint = join_hints(ways, note="or turn Secure Boot off in the firmware: gpustack explain gpu-driver/secure-boot")
    actual = "on, and DKMS's key is not enrolled" if on_host else "on, and a driver container's module is not signed"
    what, wanted = "Secure Boot", "off, or a signed module"
    return Result(what, wanted, actual, "operator", fault="gpu-secure-boot-unsigned-module", hint=hint)


def nouveau(here: View) -> Result | None:
    """The kernel's own driver, nouveau, does not use the GPUs: it is not loaded, and is blacklisted."""
    if not driven(here, "host", "container"):
        return None
    found = here[GPU_DRIVER]
    if not found.nouveau_blacklisted:
        return Result("nouveau", "blacklisted", f"not blacklisted{', loaded' if found.nouveau_loaded else ''}")
    if not found.nouveau_loaded:
        return None
    hint = Command("reboot", here.host.name, note="nouveau is blacklisted, and does not come back")
    return Result("nouveau", "not loaded", "loaded", "operator", hint=hint)


def loaded(here: View) -> Result | None:
    """The kernel module nvidia is loaded."""
    if not driven(here, "host", "none") or here[GPU_DRIVER].module:
        return None
    running = here[GPU_KERNELS].running
    found = "not loaded" if running.module else f"not loaded, and not built for the kernel {running.release}"
    if mode(here) == "host":
        return Result("module nvidia", "loaded", found)
    hint = Command("modprobe", "nvidia", note="or let gpustack install one: gpu.driver.mode: host in the spec")
    return Result("module nvidia", "loaded", found, "operator", hint=hint)


def matching(here: View) -> Result | None:
    """The loaded module and the libraries have the same version: after a package upgrade the old module stays loaded
    until the next boot, and every program that starts gets "driver/library version mismatch"."""
    if not driven(here, "host", "none"):
        return None
    found = here[GPU_DRIVER]
    if not found.module or not found.library or found.module == found.library:
        return None
    actual = f"module {found.module}, libraries {found.library}: driver/library version mismatch"
    what, wanted = "driver", "module and libraries of the same version"
    return Result(what, wanted, actual, "operator", fault="gpu-driver-library-mismatch", hint=advise_reboot(here))


def persistence(here: View) -> Result | None:
    """nvidia-persistenced is running, if it is installed: without it the driver initialises the GPUs again for each
    program."""
    if not driven(here, "host") or here[GPU_DRIVER].persistence != "inactive":
        return None
    return Result("nvidia-persistenced.service", "active", "inactive", fault="gpu-persistence-off")


def answers(here: View) -> Result | None:
    """nvidia-smi responds within seconds, and shows GPUs. If the driver is stuck, it hangs and cannot be killed."""
    if not driven(here, "host", "none"):
        return None
    found, ours = here[GPU_SMI], mode(here) == "host"
    if found.state == "absent":
        return absent(here) if ours else None
    if found.state == "ended" and found.rc == 0 and found.gpus and not found.message:
        return None
    if found.state == "hangs":
        actual = "no response: the driver is stuck"
    elif found.rc:
        message = f": {found.message}" if found.message else ""
        actual = f"{ENDED.get(found.rc, 'an error')} (exit status {found.rc}){message}"
    else:
        actual = found.message or "no GPU"
    cure: Cure = "install" if ours and found.rc == 9 else "operator"
    return Result("nvidia-smi", "working", actual, cure, hint=NO_HINT if cure == "install" else advise_reboot(here))


def absent(here: View) -> Result:
    """The packages contain nvidia-smi; if they are installed without it, installing them again does not help."""
    if any(name not in here[GPU_PACKAGES] for name in wanted(here)):
        return Result("nvidia-smi", "working", "not installed")
    hint = Command("apt-cache", "search", "nvidia-smi", note="none of the installed packages contains it")
    return Result("nvidia-smi", "working", "not installed", "operator", hint=hint)


def advise_reboot(here: View) -> Hint:
    if here.host.standalone:
        return Command("reboot", here.host.name, note="when nothing uses its GPUs")
    drain = Command("kubectl", "drain", here.host.name, "--ignore-daemonsets", "--delete-emptydir-data")
    return Prose("{}; then reboot it, and uncordon it", drain)


BEFORE = (driver_mode, secure_boot, nouveau)
CHECKS = (loaded, matching, persistence, answers)
