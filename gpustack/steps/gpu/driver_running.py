"""Checks of step gpu-driver for the running driver: the module, its libraries, and nvidia-smi."""

from gpustack.ask.judge import Cure, Result
from gpustack.ask.view import View
from gpustack.command import NO_HINT, Command, Hint, Prose, join_hints
from gpustack.probes.gpu.driver import GPU_DRIVER, GPU_SMI
from gpustack.probes.gpu.packages import GPU_KERNELS, GPU_PACKAGES
from gpustack.probes.host.system import IDENTITY, OS
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.steps.gpu.fabric import list_nvlink_devices
from gpustack.steps.gpu.mode import choose_driver_mode, list_expected_packages, uses_driver_mode
from gpustack.steps.own_node import find_node

# nvidia-smi(1), RETURN VALUE; 18 is NVML's own number.
EXIT_STATUSES = {
    4: "no permission",
    8: "the power cables of a GPU are not attached",
    9: "the module is not loaded",
    10: "the kernel detected an interrupt issue with a GPU",
    12: "libnvidia-ml not found",
    14: "the infoROM of a GPU is damaged",
    15: "a GPU has fallen off the bus or has become inaccessible",
    18: "driver/library version mismatch",
}


def driver_mode(view: View) -> Result | None:
    """A driver container exists for the operating system, if the driver is to run in one: none is built for Debian,
    and without the operator nothing installs one."""
    if not uses_driver_mode(view, "container"):
        return None
    hint = Command("gpustack", "explain", "gpu-driver")
    if view.host.standalone:
        return Result("gpu.driver.mode", "host or none without Kubernetes", "container", "operator", hint=hint)
    if view.spec.gpu.stack == "host":
        return Result("gpu.driver.mode", "host or none with gpu.stack host", "container", "operator", hint=hint)
    if view[OS].id != "debian":
        return None
    return Result("gpu.driver.mode", "host or none on Debian", "container", "operator", hint=hint)


def secure_boot(view: View) -> Result | None:
    """The module is signed with a key that the firmware accepts, if Secure Boot is on. This is reported before anything
    is installed.

    DKMS signs what it builds on a host with a key of that host, and only a person at the console can enrol it: apt-get
    install dkms mokutil; if the key does not exist yet, dkms creates it with the first module, and on Ubuntu
    update-secureboot-policy --new-key does; mokutil --import, with the file that the hint names; reboot, and follow the
    menu. What a driver container builds is not signed at all: in that case install the driver as packages
    (gpu.driver.mode: host), or as modules signed by Ubuntu (linux-modules-nvidia-…) with gpu.driver.mode: none. If the
    module is loaded already, it is signed.
    """
    if not uses_driver_mode(view, "host", "container"):
        return None
    gpu_driver, on_host = view[GPU_DRIVER], uses_driver_mode(view, "host")
    if not gpu_driver.secure_boot or gpu_driver.module or (gpu_driver.key_enrolled and on_host):
        return None
    hint = join_hints(
        advise_signing(view), note="or turn Secure Boot off in the firmware: gpustack explain gpu-driver/secure-boot"
    )
    actual = "on, and DKMS's key is not enrolled" if on_host else "on, and a driver container's module is not signed"
    subject, expected_state = "Secure Boot", "off, or a signed module"
    return Result(subject, expected_state, actual, "operator", fault="gpu-secure-boot-unsigned-module", hint=hint)


def advise_signing(view: View) -> Hint:
    """Advise how the module gets a signature: DKMS makes one on the host, and nothing does for GPUs of NVLink 5, whose
    driver packages alone do not serve."""
    enrol = Command("mokutil", "--import", view[GPU_DRIVER].key or "/var/lib/dkms/mok.pub")
    if uses_driver_mode(view, "host"):
        return Prose("{}; reboot", enrol)
    if list_nvlink_devices(view):
        return Prose("install a signed driver, nvidia-fabricmanager and nvlsm on that host")
    return Prose("set gpu.driver.mode: host in the spec and enrol DKMS's key")


def nouveau(view: View) -> Result | None:
    """The kernel's own driver, nouveau, does not use the GPUs: it is not loaded, and is blacklisted."""
    if not uses_driver_mode(view, "host", "container"):
        return None
    gpu_driver = view[GPU_DRIVER]
    if not gpu_driver.nouveau_blacklisted:
        return Result("nouveau", "blacklisted", f"not blacklisted{', loaded' if gpu_driver.nouveau_loaded else ''}")
    if not gpu_driver.nouveau_loaded:
        return None
    hint = Command("reboot", view.host.name, note="nouveau is blacklisted, and does not come back")
    return Result("nouveau", "not loaded", "loaded", "operator", hint=hint)


def module_loaded(view: View) -> Result | None:
    """The kernel module nvidia is loaded."""
    if not uses_driver_mode(view, "host", "none") or view[GPU_DRIVER].module:
        return None
    running_kernel = view[GPU_KERNELS].running
    actual = (
        "not loaded" if running_kernel.module else f"not loaded, and not built for the kernel {running_kernel.release}"
    )
    if choose_driver_mode(view) == "host":
        return Result("module nvidia", "loaded", actual)
    hint = Command("modprobe", "nvidia")
    return Result("module nvidia", "loaded", actual, "operator", hint=hint)


def matching(view: View) -> Result | None:
    """The loaded module and the libraries have the same version: after a package upgrade the old module stays loaded
    until the next boot, and every program that starts gets "driver/library version mismatch"."""
    if not uses_driver_mode(view, "host", "none"):
        return None
    gpu_driver = view[GPU_DRIVER]
    if not gpu_driver.module or not gpu_driver.library or gpu_driver.module == gpu_driver.library:
        return None
    actual = f"module {gpu_driver.module}, libraries {gpu_driver.library}: driver/library version mismatch"
    subject, expected_state = "driver", "module and libraries of the same version"
    return Result(
        subject, expected_state, actual, "operator", fault="gpu-driver-library-mismatch", hint=advise_reboot(view)
    )


def persistence(view: View) -> Result | None:
    """The daemon nvidia-persistenced is running, if it is installed: without it the driver initialises the GPUs again
    for each program."""
    if not uses_driver_mode(view, "host") or view[GPU_DRIVER].persistence != "inactive":
        return None
    return Result("nvidia-persistenced.service", "active", "inactive", fault="gpu-persistence-off")


def answers(view: View) -> Result | None:
    """The driver answers nvidia-smi within seconds, and shows GPUs. If the driver is stuck, nvidia-smi hangs and cannot
    be killed."""
    if not uses_driver_mode(view, "host", "none"):
        return None
    smi, is_managed = view[GPU_SMI], choose_driver_mode(view) == "host"
    if smi.state == "absent":
        return build_absent_result(view) if is_managed else None
    if smi.state == "ended" and smi.rc == 0 and smi.gpus and not smi.message:
        return None
    if smi.state == "hangs":
        actual = "no response: the driver is stuck"
    elif smi.rc:
        message = f": {smi.message}" if smi.message else ""
        actual = f"{EXIT_STATUSES.get(smi.rc, 'an error')} (exit status {smi.rc}){message}"
    else:
        actual = smi.message or "no GPU"
    cure: Cure = "install" if is_managed and smi.rc == 9 else "operator"
    return Result("nvidia-smi", "working", actual, cure, hint=NO_HINT if cure == "install" else advise_reboot(view))


def build_absent_result(view: View) -> Result:
    """Build the Result for a missing nvidia-smi. If the packages are installed without it, installing them again does
    not help."""
    if any(name not in view[GPU_PACKAGES] for name in list_expected_packages(view)):
        return Result("nvidia-smi", "working", "not installed")
    hint = Command("apt-cache", "search", "nvidia-smi", note="none of the installed packages contains it")
    return Result("nvidia-smi", "working", "not installed", "operator", hint=hint)


def advise_reboot(view: View) -> Hint:
    if view.host.standalone:
        return Command("reboot", view.host.name, note="when nothing uses its GPUs")
    node = find_node(view) if view.has_fact(NODES) and view.has_fact(IDENTITY) else None
    if not node:
        return Command("reboot", view.host.name, note="when nothing uses its GPUs; drain its node before")
    return Command("gpustack", "node", "reboot", node.name)


EARLY_CHECKS = (driver_mode, secure_boot, nouveau)
CHECKS = (module_loaded, matching, persistence, answers)
