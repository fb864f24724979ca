"""Faults of the layer `containerd` that its files and packages make: settings that the running daemon reads past."""

from collections.abc import Iterator

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.probes.containerd.daemon import CONFIGURATION, MIRRORS, RUNTIME
from gpustack.probes.containerd.pods import RUNTIMES
from gpustack.probes.containerd.tables import CONFIGURED, Tables
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.packages.apt_history import UPGRADES
from gpustack.probes.packages.software import PACKAGES

PACKAGE = "containerd.io"


def major(here: View) -> int:
    """Of the installed containerd; 2 where it is of no package."""
    found = here[PACKAGES]["containerd.io"] or here[PACKAGES]["containerd"]
    return int(found.version.split(".")[0]) if found else 2


def read_of(file: Tables, major: int) -> int:
    """The version whose tables a daemon reads of a file: 1.x knows two of them, 2.x takes newer ones for the third."""
    return min(file.version, 2 if major < 2 else 3)


def unread(here: View) -> str:
    """Why the daemon cannot have these files in force yet; empty where it can."""
    unit = here[UNITS].get("containerd")
    if unit is None or not unit.active:
        return "not installed" if unit is None else "not active"
    return "not restarted since they were written" if unit.since and unit.since < here[CONFIGURATION].newest else ""


def passed_over(here: View) -> Iterator[str]:
    """Settings that stand in a file, in no table that is read, and are not in force."""
    running, files, of = here[RUNTIME], here[CONFIGURED], major(here)
    if running is None:
        return
    if not running.systemd_cgroup and not any(read_of(one, of) in one.systemd for one in files.values()):
        yield from (f"SystemdCgroup in {name}" for name, one in files.items() if one.systemd or one.misspelt)
    if not running.nvidia and not any(read_of(one, of) in one.nvidia for one in files.values()):
        yield from (f"runtime nvidia in {name}" for name, one in files.items() if one.nvidia)


@check("containerd-config-key-wrong-schema", RUNTIME, CONFIGURED, CONFIGURATION, PACKAGES, UNITS)
def key_of_another_schema(here: View) -> Result:
    """The running containerd decides: an additional table beside the correct one does no harm."""
    if why := unread(here):
        return ok("settings of containerd", why)
    found = list(passed_over(here))
    return Result(
        "settings of containerd", "effective", f"ignored: {as_text(found)}" if found else "effective", ok=not found
    )


@check("containerd-dropin-replaces-cri-table", RUNTIME, CONFIGURED, CONFIGURATION, PACKAGES, UNITS)
def table_replaced(here: View) -> Result:
    """Only of containerd 1.x with CRI settings in several files, one of which is ineffective."""
    what, why = "CRI settings of containerd", unread(here)
    if why or major(here) > 1:
        return ok(what, why or "merged per key since version 2")
    files = [name for name, one in here[CONFIGURED].items() if one.cri]
    if len(files) < 2:
        return ok(what, f"only in {as_text(files)}")
    running = here[RUNTIME]
    meant = any(one.systemd for one in here[CONFIGURED].values())
    lost = running is None or (meant and not running.systemd_cgroup)
    now = "CRI not responding" if running is None else "systemd cgroups disabled" if lost else "effective"
    return Result(what, "all effective", f"{now}, with CRI settings in {as_text(files)}" if lost else now, ok=not lost)


@check("containerd-registry-config-invalid", RUNTIME, CONFIGURED, MIRRORS, UNITS)
def registry_settings(here: View) -> Result:
    """Both config_path and mirrors while CRI did not load, or an invalid hosts.toml."""
    what, files = "registry configuration of containerd", here[CONFIGURED]
    if bad := [name for name, one in here[MIRRORS].items() if one.server.startswith("(")]:
        return Result(what, "valid", f"invalid TOML: certs.d/{as_text(bad)}/hosts.toml")
    both = [name for name, one in files.items() if one.mirrors or one.paths]
    if not any(one.mirrors for one in files.values()) or not any(one.paths for one in files.values()):
        return ok(what, "either config_path or mirrors")
    unit = here[UNITS].get("containerd")
    if here[RUNTIME] or unit is None or not unit.active:
        return ok(what, "accepted by CRI" if here[RUNTIME] else "unused: containerd is not running")
    return Result(what, "either config_path or mirrors", f"both, in {as_text(both)}, and CRI not responding")


@check("multiple-cri-sockets", RUNTIMES, LEFTOVERS)
def other_runtimes(here: View) -> Result:
    """Only sockets with a listener. Other remains of a runtime are not a fault of this kind."""
    found, left = here[RUNTIMES], here[LEFTOVERS].distributions
    beside = f"{as_text(found)}{' (cri-dockerd)' if 'cri-dockerd' in left else ''}" if found else "only containerd's"
    return Result("CRI sockets", "only containerd's", beside, ok=not found)


@check("containerd-needrestart-or-upgrade-restart", PACKAGES, UPGRADES)
def upgraded_below_pods(here: View) -> Result:
    """Not held, and upgraded by apt. Without an upgrade it is only a difference that the plan reports."""
    what, found = "upgrades by apt", here[PACKAGES][PACKAGE]
    if found is None or found.held:
        return ok(what, f"{PACKAGE} is {'held' if found else 'not installed'}")
    done = [one for one in here[UPGRADES] if PACKAGE in one.packages]
    if not done:
        return ok(what, f"none of {PACKAGE}, although not held")
    return Result(what, f"{PACKAGE} held", f"not held, upgraded on {done[-1].when}")


CHECKS = (key_of_another_schema, table_replaced, registry_settings, other_runtimes, upgraded_below_pods)
