"""Checks of step prereqs that its playbook can fix: packages and the time service."""

from gpustack.ask.judge import Result, as_text, expect
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.probes.host.units import CLOCK, CLOCKS, UNITS
from gpustack.probes.kernel.settings import MODULES
from gpustack.probes.kubernetes.cluster_leftovers import TEMPORARIES
from gpustack.probes.packages.dpkg import SOURCES
from gpustack.probes.packages.software import FETCHING, HOST_PACKAGES, PACKAGES
from gpustack.steps.egress_files import files_mismatch


def package_sources(here: View) -> Result | None:
    """apt can read all its package sources: it reads none of them if one is incomplete. Two sources for the same
    location with different keys, one of them ours, are checked by the step that owns that repository."""
    refused = here[SOURCES].refused
    if not refused or "gpustack-" in " ".join(refused):
        return None
    hint = Command("gpustack", "explain", "apt-sources-refused")
    return Result("package sources", "all valid", as_text(refused), "operator", hint=hint)


def packages(here: View) -> Result | None:
    """The packages that Kubernetes requires on a host are installed; without it, those that apt's repositories need."""
    found = here[PACKAGES]
    missing = [name for name in (FETCHING if here.host.standalone else HOST_PACKAGES) if found[name] is None]
    return Result("packages", "installed", f"missing: {as_text(missing)}") if missing else None


def apparmor(here: View) -> Result | None:
    """The AppArmor parser is installed if AppArmor is enabled in the kernel: containerd loads its profile with it."""
    if not here[MODULES].apparmor or here[PACKAGES]["apparmor"]:
        return None
    found = "missing, but AppArmor is enabled in the kernel"
    return Result("package apparmor", "installed", found, fault="host-apparmor-parser-missing")


def time_service(here: View) -> Result | None:
    """A time service is running and enabled at boot (not checked with time_sync: external)."""
    if here.spec.time_sync == "external":
        return None
    units = here[UNITS]
    running = [name for name in CLOCKS if (unit := units.get(name)) and unit.active and unit.file == "enabled"]
    if running:
        return None
    hint = Prose(
        "systemctl status systemd-timesyncd, or set time_sync: external in the spec where others keep the clock"
    )
    return Result("time service", f"one of {', '.join(CLOCKS)}, enabled and active", "none", hint=hint)


def clock_synchronised(here: View) -> Result | None:
    """The clock is synchronised with a time server (not checked with time_sync: external)."""
    if here.spec.time_sync == "external":
        return None
    hint = Prose("name a reachable server in /etc/systemd/timesyncd.conf, or set time_sync: external in the spec")
    return expect("clock synchronised", "yes", as_text(here[CLOCK]), hint=hint)


def temporary_files(here: View) -> Result | None:
    """No temporary file of an interrupted installation is left."""
    return expect("leftover files", (), here[TEMPORARIES])


def egress(here: View) -> Result | None:
    """apt and the downloads of gpustack use the proxy of the spec, if it has one."""
    return files_mismatch(here, "prereqs")


CHECKS = (egress, package_sources, packages, apparmor, time_service, clock_synchronised, temporary_files)
