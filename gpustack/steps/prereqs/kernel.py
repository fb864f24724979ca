"""Checks of step prereqs that its playbook can fix: modules, sysctls, swap."""

from pathlib import PurePosixPath

from gpustack.ask.judge import Result, expect, format_value
from gpustack.ask.view import View
from gpustack.command import Prose
from gpustack.probes.kernel.settings import KERNEL_MODULES, MODULES, SWAP, SYSCTL, SYSCTLS

SYSCTL_FILE = "/etc/sysctl.d/90-gpustack.conf"


def modules(view: View) -> Result | None:
    """Overlay file systems work, and bridged packets pass through iptables."""
    missing_modules = KERNEL_MODULES - view[MODULES].working
    return (
        Result("kernel modules", "working", f"not working: {format_value(missing_modules)}")
        if missing_modules
        else None
    )


def modules_at_boot(view: View) -> Result | None:
    """The kernel modules overlay and br_netfilter are loaded at boot."""
    return expect(
        "modules loaded at boot", format_value(KERNEL_MODULES), format_value(KERNEL_MODULES & view[MODULES].at_boot)
    )


def sysctls(view: View) -> Result | None:
    """IP forwarding and bridge-nf-call-{iptables,ip6tables} are enabled now. Missing sysctls come with a module and are
    then enabled (the default of br_netfilter)."""
    live_values = view[SYSCTL].live
    disabled_sysctls = {key: live_values[key] or "nothing" for key in SYSCTLS if live_values[key] != "1"}
    if not disabled_sysctls:
        return None
    are_absent = set(disabled_sysctls.values()) == {"nothing"}
    return Result(
        "sysctls",
        "1 each",
        format_value([f"{key} = {value}" for key, value in disabled_sysctls.items()]),
        passing=are_absent,
    )


def sysctls_at_boot(view: View) -> Result | None:
    """The file of gpustack sets the sysctls at boot."""
    at_boot = view[SYSCTL].at_boot
    enabled_sysctls = [
        key for key in SYSCTLS if any(setting.file == SYSCTL_FILE and setting.value == "1" for setting in at_boot[key])
    ]
    return expect(f"sysctls enabled by {SYSCTL_FILE}", format_value(SYSCTLS), format_value(enabled_sysctls))


def sysctls_overridden(view: View) -> Result | None:
    """The files that are read after gpustack's set no other values of the sysctls at boot."""
    last_settings = {key: settings[-1] for key, settings in view[SYSCTL].at_boot.items() if settings}
    later_settings = {
        key: setting
        for key, setting in last_settings.items()
        if PurePosixPath(setting.file).name > PurePosixPath(SYSCTL_FILE).name
    }
    overrides = [
        f"{key} = {setting.value} in {setting.file}" for key, setting in later_settings.items() if setting.value != "1"
    ]
    if not overrides:
        return None
    return Result(
        "sysctls at boot", "1 each", format_value(overrides), "operator", hint=Prose("take the line out of that file")
    )


def swap_off(view: View) -> Result | None:
    """The host uses no swap now (unless the spec has swap: keep)."""
    if view.spec.swap == "keep":
        return None
    return expect("swap in use", (), view[SWAP].active, fault="host-swap-on")


def swap_stays_off(view: View) -> Result | None:
    """Neither fstab nor a systemd unit enables swap at boot (unless the spec has swap: keep)."""
    swap = view[SWAP]
    enablers = (*(f"fstab: {' '.join(line.split())}" for line in swap.fstab), *swap.units)
    if view.spec.swap == "keep" or not enablers:
        return None
    return Result("swap at boot", "nothing", format_value(enablers), latent=True)


CHECKS = (
    modules, modules_at_boot, sysctls, sysctls_at_boot, sysctls_overridden, swap_off, swap_stays_off,
)  # fmt: skip
