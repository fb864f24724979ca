"""Faults of the layer `host` in its kernel: modules now and after a boot, and what it refuses."""

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.host.units import UNITS
from gpustack.probes.kernel.boot import BOOT
from gpustack.probes.kernel.limits import DENIALS, INOTIFY
from gpustack.probes.kernel.settings import KERNEL_MODULES, MODULES
from gpustack.probes.packages.software import PACKAGES


@check("host-modules-not-persisted", BOOT, MODULES, PACKAGES)
def modules_not_persisted(view: View) -> Result:
    """Look for the modules in all files that are read at boot, whoever wrote them. They are not needed before the
    container runtime is installed."""
    if not view[PACKAGES]["containerd.io"]:
        return build_ok_result("modules loaded at boot", "no container runtime yet")
    missing_modules = KERNEL_MODULES - view[BOOT].named_modules - view[BOOT].builtin
    if not missing_modules:
        return build_ok_result("modules loaded at boot", format_value(KERNEL_MODULES))
    actual = format_value(missing_modules & view[MODULES].working)
    return Result(
        "modules loaded at boot",
        format_value(KERNEL_MODULES),
        f"{format_value(missing_modules)} not in any file (working now: {actual})",
    )


@check("host-reboot-pending-kernel", BOOT)
def reboot_pending(view: View) -> Result:
    """Look for the modules of the running kernel beside those of other kernels. A host without any gets its kernel from
    elsewhere."""
    boot, subject = view[BOOT], f"modules of the running kernel {view[BOOT].release}"
    if boot.folder == "whole" or (boot.folder == "none" and not boot.other_kernels):
        return build_ok_result(subject, "present" if boot.folder == "whole" else "no kernel on this host")
    other_kernels = f"; present for {format_value(boot.other_kernels)}" if boot.other_kernels else ""
    return Result(subject, "present", f"missing{other_kernels}")


@check("host-inotify-exhausted", INOTIFY)
def inotify_exhausted(view: View) -> Result:
    """Judge the answer of the kernel to a request for an inotify instance."""
    inotify = view[INOTIFY]
    usage = f"{inotify.used_instances} in use, limit {inotify.limit}"
    return Result(
        "new inotify instance",
        "granted",
        f"{'refused' if inotify.refused else 'granted'}: {usage}",
        ok=not inotify.refused,
    )


@check("host-apparmor-runc-signal", DENIALS, UNITS)
def apparmor_denies_signals(view: View) -> Result:
    """Look for signals between the profiles of runc and containerd that AppArmor denied since containerd started."""
    unit = view[UNITS].get("containerd")
    start_time = unit.active_since if unit and unit.active_since else 0
    denials = [
        denial
        for denial in view[DENIALS]
        if denial.denied_at >= start_time and is_runtime(denial.profile) and is_runtime(denial.peer)
    ]
    profiles = f"{denials[-1].profile} and {denials[-1].peer}" if denials else "none denied"
    return Result(
        "signals to containers", "allowed", f"denied between {profiles}" if denials else profiles, ok=not denials
    )


def is_runtime(profile: str) -> bool:
    return profile.rsplit("/", 1)[-1] in ("runc", "crun") or profile.startswith("cri-containerd")
