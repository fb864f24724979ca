"""Faults of the layer `containerd` in its files and packages: settings that the running daemon ignores."""

from collections.abc import Iterator

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check, expect_none
from gpustack.probes.containerd.daemon import CONFIGURATION, MIRRORS, RUNTIME
from gpustack.probes.containerd.pods import RUNTIMES
from gpustack.probes.containerd.tables import CONFIG_TABLES, Tables
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubernetes.cluster_leftovers import LEFTOVERS
from gpustack.probes.packages.apt_history import UPGRADES
from gpustack.probes.packages.software import PACKAGES

PACKAGE = "containerd.io"


def find_major_version(view: View) -> int:
    """Return the major version of the installed containerd, and 2 where no package installed it."""
    package = view[PACKAGES]["containerd.io"] or view[PACKAGES]["containerd"]
    return int(package.version.split(".")[0]) if package else 2


def select_schema_version(file: Tables, major: int) -> int:
    """Return the version whose tables a daemon reads in a file. 1.x knows versions 1 and 2; 2.x reads newer ones as
    version 3."""
    return min(file.version, 2 if major < 2 else 3)


def explain_unread_files(view: View) -> str:
    """Explain why the daemon cannot use these files yet. Return an empty text where it can."""
    unit = view[UNITS].get("containerd")
    if unit is None or not unit.active:
        return "not installed" if unit is None else "not active"
    if unit.active_since and unit.active_since < view[CONFIGURATION].newest:
        return "not restarted since they were written"
    return ""


def list_ignored_settings(view: View) -> Iterator[str]:
    """Yield settings that are in a file, in no table that is read, and not in force."""
    runtime, files, major = view[RUNTIME], view[CONFIG_TABLES], find_major_version(view)
    if runtime is None:
        return
    if not runtime.systemd_cgroup and not any(
        select_schema_version(tables, major) in tables.systemd for tables in files.values()
    ):
        yield from (f"SystemdCgroup in {name}" for name, tables in files.items() if tables.systemd or tables.misspelt)
    if not runtime.nvidia and not any(
        select_schema_version(tables, major) in tables.nvidia for tables in files.values()
    ):
        yield from (f"runtime nvidia in {name}" for name, tables in files.items() if tables.nvidia)


@check("containerd-config-key-wrong-schema", RUNTIME, CONFIG_TABLES, CONFIGURATION, PACKAGES, UNITS)
def key_of_another_schema(view: View) -> Result:
    """Check that settings are in force in the running containerd. An additional table beside the correct one does no
    harm."""
    if reason := explain_unread_files(view):
        return build_ok_result("settings of containerd", reason)
    if view[RUNTIME] is None:
        raise FactUnavailable("containerd does not respond, and so does not say which settings are in force")
    ignored_settings = list(list_ignored_settings(view))
    return Result(
        "settings of containerd",
        "effective",
        f"ignored: {format_value(ignored_settings)}" if ignored_settings else "effective",
        ok=not ignored_settings,
    )


@check("containerd-config-key-wrong-schema -> containerd-cgroup-driver", RUNTIME, CONFIG_TABLES, CONFIGURATION)
def ignores_cgroup_driver(view: View) -> Result:
    """Look for the setting of the cgroup driver among the ignored ones."""
    if view[RUNTIME] is None:
        raise FactUnavailable("containerd does not respond, and so does not say which settings are in force")
    ignored_settings = [setting for setting in list_ignored_settings(view) if "SystemdCgroup" in setting]
    return expect_none("setting of the cgroup driver", "ignored", ignored_settings, "in force")


@check("containerd-dropin-replaces-cri-table", RUNTIME, CONFIG_TABLES, CONFIGURATION, PACKAGES, UNITS)
def table_replaced(view: View) -> Result:
    """Judge containerd 1.x with CRI settings in several files, one of which is not in force."""
    subject, reason = "CRI settings of containerd", explain_unread_files(view)
    if reason or find_major_version(view) > 1:
        return build_ok_result(subject, reason or "merged per key since version 2")
    files = [name for name, tables in view[CONFIG_TABLES].items() if tables.cri]
    if len(files) < 2:
        return build_ok_result(subject, f"only in {format_value(files)}")
    runtime = view[RUNTIME]
    expects_systemd = any(tables.systemd for tables in view[CONFIG_TABLES].values())
    is_replaced = runtime is None or (expects_systemd and not runtime.systemd_cgroup)
    actual = "CRI not responding" if runtime is None else "systemd cgroups disabled" if is_replaced else "effective"
    return Result(
        subject,
        "all effective",
        f"{actual}, with CRI settings in {format_value(files)}" if is_replaced else actual,
        ok=not is_replaced,
    )


@check("containerd-registry-config-invalid", RUNTIME, CONFIG_TABLES, MIRRORS, UNITS)
def registry_settings(view: View) -> Result:
    """Look for both config_path and mirrors while CRI did not load, or for an invalid hosts.toml."""
    subject, files = "registry configuration of containerd", view[CONFIG_TABLES]
    if invalid_files := [name for name, mirror in view[MIRRORS].items() if mirror.server.startswith("(")]:
        return Result(subject, "valid", f"invalid TOML: certs.d/{format_value(invalid_files)}/hosts.toml")
    file_names = [name for name, file in files.items() if file.mirrors or file.paths]
    if not any(tables.mirrors for tables in files.values()) or not any(tables.paths for tables in files.values()):
        return build_ok_result(subject, "either config_path or mirrors")
    unit = view[UNITS].get("containerd")
    if view[RUNTIME] or unit is None or not unit.active:
        return build_ok_result(subject, "accepted by CRI" if view[RUNTIME] else "unused: containerd is not running")
    return Result(
        subject, "either config_path or mirrors", f"both, in {format_value(file_names)}, and CRI not responding"
    )


@check("multiple-cri-sockets", RUNTIMES, LEFTOVERS)
def other_runtimes(view: View) -> Result:
    """Look for CRI sockets of other runtimes with a listener. Other remains of a runtime are another fault."""
    runtimes, distributions = view[RUNTIMES], view[LEFTOVERS].distributions
    actual = (
        f"{format_value(runtimes)}{' (cri-dockerd)' if 'cri-dockerd' in distributions else ''}"
        if runtimes
        else "only containerd's"
    )
    return Result("CRI sockets", "only containerd's", actual, ok=not runtimes)


@check("containerd-needrestart-or-upgrade-restart", PACKAGES, UPGRADES)
def upgraded_below_pods(view: View) -> Result:
    """Check that containerd is held, or was not upgraded by apt. Without an upgrade, it is only a difference that the
    plan reports."""
    subject, package = "upgrades by apt", view[PACKAGES][PACKAGE]
    if package is None or package.held:
        return build_ok_result(subject, f"{PACKAGE} is {'held' if package else 'not installed'}")
    upgrades = [upgrade for upgrade in view[UPGRADES] if PACKAGE in upgrade.packages]
    if not upgrades:
        return build_ok_result(subject, f"none of {PACKAGE}, although not held")
    return Result(subject, f"{PACKAGE} held", f"not held, upgraded on {upgrades[-1].started_at}")
