"""Faults of the layer `host` about its kernel: modules now and after a boot, and what it refuses."""

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.host.units import UNITS
from gpustack.probes.kernel.boot import BOOT
from gpustack.probes.kernel.limits import DENIALS, INOTIFY
from gpustack.probes.kernel.settings import KERNEL_MODULES, MODULES
from gpustack.probes.packages.software import PACKAGES


@check("host-modules-not-persisted", BOOT, MODULES, PACKAGES)
def modules_not_persisted(here: View) -> Result:
    """In any file that is read at boot, regardless of its author. Not applicable before the container runtime is
    installed."""
    if not here[PACKAGES]["containerd.io"]:
        return ok("modules loaded at boot", "no container runtime yet")
    lacking = KERNEL_MODULES - here[BOOT].named - here[BOOT].builtin
    if not lacking:
        return ok("modules loaded at boot", as_text(KERNEL_MODULES))
    now = as_text(lacking & here[MODULES].working)
    return Result(
        "modules loaded at boot", as_text(KERNEL_MODULES), f"{as_text(lacking)} not in any file (working now: {now})"
    )


@check("host-reboot-pending-kernel", BOOT)
def reboot_pending(here: View) -> Result:
    """The modules of the running kernel are missing beside those of other kernels. A host without any gets its kernel
    from elsewhere."""
    found, what = here[BOOT], f"modules of the running kernel {here[BOOT].release}"
    if found.folder == "whole" or (found.folder == "none" and not found.others):
        return ok(what, "present" if found.folder == "whole" else "no kernel on this host")
    others = f"; present for {as_text(found.others)}" if found.others else ""
    return Result(what, "present", f"missing{others}")


@check("host-inotify-exhausted", INOTIFY)
def inotify_exhausted(here: View) -> Result:
    """By requesting an instance."""
    found = here[INOTIFY]
    how = f"{found.used} in use, limit {found.limit}"
    return Result(
        "new inotify instance",
        "granted",
        f"{'refused' if found.refused else 'granted'}: {how}",
        ok=not found.refused,
    )


@check("host-apparmor-runc-signal", DENIALS, UNITS)
def apparmor_denies_signals(here: View) -> Result:
    """Between the profiles of runc and containerd, since containerd started."""
    unit = here[UNITS].get("containerd")
    since = unit.since if unit and unit.since else 0
    found = [one for one in here[DENIALS] if one.at >= since and is_runtime(one.profile) and is_runtime(one.peer)]
    shown = f"{found[-1].profile} and {found[-1].peer}" if found else "none denied"
    return Result("signals to containers", "allowed", f"denied between {shown}" if found else shown, ok=not found)


def is_runtime(profile: str) -> bool:
    return profile.rsplit("/", 1)[-1] in ("runc", "crun") or profile.startswith("cri-containerd")


CHECKS = (modules_not_persisted, reboot_pending, inotify_exhausted, apparmor_denies_signals)
