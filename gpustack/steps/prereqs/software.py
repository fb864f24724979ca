"""Checks of step prereqs that its playbook can fix: packages and the time service."""

from gpustack.ask.judge import Result, expect, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.probes.host.units import CLOCK, CLOCKS, UNITS
from gpustack.probes.kernel.settings import MODULES
from gpustack.probes.kubernetes.cluster_leftovers import TEMPORARIES
from gpustack.probes.packages.dpkg import SOURCES
from gpustack.probes.packages.software import FETCH_PACKAGES, HOST_PACKAGES, PACKAGES
from gpustack.steps.egress_files import find_file_mismatch


def package_sources(view: View) -> Result | None:
    """The package sources of apt can all be read: apt reads none of them if one is incomplete. Two sources for the same
    location with different keys, one of them gpustack's, are checked by the step that owns that repository."""
    errors = view[SOURCES].errors
    if not errors or "gpustack-" in " ".join(errors):
        return None
    hint = Command("gpustack", "explain", "apt-sources-refused")
    return Result("package sources", "all valid", format_value(errors), "operator", hint=hint)


def packages(view: View) -> Result | None:
    """The packages that Kubernetes requires on a host are installed; without it, those that apt's repositories need."""
    host_packages = view[PACKAGES]
    missing_packages = [
        name for name in (FETCH_PACKAGES if view.host.standalone else HOST_PACKAGES) if host_packages[name] is None
    ]
    return Result("packages", "installed", f"missing: {format_value(missing_packages)}") if missing_packages else None


def apparmor(view: View) -> Result | None:
    """The AppArmor parser is installed if AppArmor is enabled in the kernel: containerd loads its profile with it."""
    if not view[MODULES].apparmor or view[PACKAGES]["apparmor"]:
        return None
    actual = "missing, but AppArmor is enabled in the kernel"
    return Result("package apparmor", "installed", actual, fault="host-apparmor-parser-missing")


def time_service(view: View) -> Result | None:
    """A time service is running and enabled at boot (not checked with time_sync: external)."""
    if view.spec.time_sync == "external":
        return None
    units = view[UNITS]
    running_clocks = [name for name in CLOCKS if (unit := units.get(name)) and unit.active and unit.file == "enabled"]
    if running_clocks:
        return None
    hint = Prose(
        "systemctl status systemd-timesyncd, or set time_sync: external in the spec where others keep the clock"
    )
    return Result("time service", f"one of {', '.join(CLOCKS)}, enabled and active", "none", hint=hint)


def clock_synchronised(view: View) -> Result | None:
    """The clock is synchronised with a time server (not checked with time_sync: external)."""
    if view.spec.time_sync == "external":
        return None
    hint = Prose("name a reachable server in /etc/systemd/timesyncd.conf, or set time_sync: external in the spec")
    return expect("clock synchronised", "yes", format_value(view[CLOCK]), hint=hint)


def temporary_files(view: View) -> Result | None:
    """The host has no temporary file left from an interrupted installation."""
    return expect("leftover files", (), view[TEMPORARIES])


def egress(view: View) -> Result | None:
    """The downloads of apt and of gpustack use the proxy of the spec, if it has one."""
    return find_file_mismatch(view, "prereqs")


CHECKS = (egress, package_sources, packages, apparmor, time_service, clock_synchronised, temporary_files)
