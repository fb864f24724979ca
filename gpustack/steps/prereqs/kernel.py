"""Checks of step prereqs that its playbook can fix: modules, sysctls, swap."""

from pathlib import PurePosixPath

from gpustack.ask.judge import Result, as_text, expect
from gpustack.ask.view import View
from gpustack.command import Prose
from gpustack.probes.kernel.settings import KERNEL_MODULES, MODULES, SWAP, SYSCTL, SYSCTLS

SYSCTL_FILE = "/etc/sysctl.d/90-gpustack.conf"


def modules(here: View) -> Result | None:
    """Overlay file systems work, and bridged packets pass through iptables."""
    missing = KERNEL_MODULES - here[MODULES].working
    return Result("kernel modules", "working", f"not working: {as_text(missing)}") if missing else None


def modules_at_boot(here: View) -> Result | None:
    """The modules are loaded at boot."""
    return expect("modules loaded at boot", as_text(KERNEL_MODULES), as_text(KERNEL_MODULES & here[MODULES].at_boot))


def sysctls(here: View) -> Result | None:
    """IP forwarding and bridge-nf-call-{iptables,ip6tables} are enabled now. Missing sysctls come with a module and are
    then enabled (the default of br_netfilter)."""
    live = here[SYSCTL].live
    off = {key: live[key] or "nothing" for key in SYSCTLS if live[key] != "1"}
    if not off:
        return None
    absent = set(off.values()) == {"nothing"}
    return Result("sysctls", "1 each", as_text([f"{key} = {value}" for key, value in off.items()]), passing=absent)


def sysctls_at_boot(here: View) -> Result | None:
    """Our file sets them at boot."""
    at_boot = here[SYSCTL].at_boot
    ours = [key for key in SYSCTLS if any(one.file == SYSCTL_FILE and one.value == "1" for one in at_boot[key])]
    return expect(f"sysctls enabled by {SYSCTL_FILE}", as_text(SYSCTLS), as_text(ours))


def sysctls_overridden(here: View) -> Result | None:
    """No file that is read after ours sets other values at boot."""
    last = {key: found[-1] for key, found in here[SYSCTL].at_boot.items() if found}
    later = {key: one for key, one in last.items() if PurePosixPath(one.file).name > PurePosixPath(SYSCTL_FILE).name}
    wrong = [f"{key} = {one.value} in {one.file}" for key, one in later.items() if one.value != "1"]
    if not wrong:
        return None
    return Result("sysctls at boot", "1 each", as_text(wrong), "operator", hint=Prose("take the line out of that file"))


def swap_off(here: View) -> Result | None:
    """No swap is in use now (unless the spec has swap: keep)."""
    if here.spec.swap == "keep":
        return None
    return expect("swap in use", (), here[SWAP].active, fault="host-swap-on")


def swap_stays_off(here: View) -> Result | None:
    """Neither fstab nor a systemd unit enables swap at boot (unless the spec has swap: keep)."""
    found = here[SWAP]
    if here.spec.swap == "keep":
        return None
    return expect("swap at boot", (), (*(f"fstab: {' '.join(line.split())}" for line in found.fstab), *found.units))


CHECKS = (
    modules, modules_at_boot, sysctls, sysctls_at_boot, sysctls_overridden, swap_off, swap_stays_off,
)  # fmt: skip
