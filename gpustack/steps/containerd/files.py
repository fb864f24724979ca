"""Checks of step containerd: its configuration files."""

from typing import Any

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Prose
from gpustack.config.resolution import resolve_mirror
from gpustack.config.sections.sources import Mirror
from gpustack.probes.containerd.daemon import CONFIGURATION, DROP_IN, MIRRORS, REGISTRIES
from gpustack.probes.packages.software import DOCKER_CE, PACKAGES
from gpustack.steps.egress_files import find_file_mismatch

IMPORTS = {"/etc/containerd/conf.d/*.toml", "/etc/containerd/conf.d/gpustack.toml"}
# That of our files. 2.3.0 to 2.3.4 refuse a file of conf.d with a higher version than config.toml; up to 2.2.9 the keys
# of config.toml are not migrated then, and do not count (docs/decisions/0004-containerd-config.md).
VERSION = 3
CRI = ("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images")


def readable(view: View) -> Result | None:
    """The files are valid TOML: with an invalid one, containerd does not start again."""
    parse_errors = [f"{name}: {reason}" for name, reason in view[CONFIGURATION].parse_errors.items()]
    hint = Prose("correct the file; containerd config dump shows whether it can be read")
    if parse_errors:
        return Result(
            "configuration files of containerd", "valid TOML", format_value(parse_errors), "operator", hint=hint
        )
    return None


def root_version(view: View) -> Result | None:
    """The file config.toml is of version 3 or newer, as gpustack's file in conf.d is, or says nothing that depends on
    its version: install then writes 3. Otherwise containerd 2.2 ignores what config.toml says, and 2.3.0 to 2.3.4 exit.
    Tables of plugins are translated by `containerd config migrate`, not by install."""
    files = view[CONFIGURATION]
    if files.version >= VERSION or not files.versioned_names:
        return None
    hint = Command("gpustack", "explain", "containerd-root-version")
    actual = f"{files.version or 'none'}, with {format_value(files.versioned_names)}"
    return Result("version of config.toml", f"{VERSION} or newer", actual, "operator", hint=hint)


def configuration(view: View) -> Result | None:
    """The file config.toml imports gpustack's file, whose content is as expected, does not disable CRI, and declares no
    older version."""
    configuration_files = view[CONFIGURATION]
    differences = []
    if 0 < configuration_files.version < VERSION and not configuration_files.versioned_names:
        differences.append(f"config.toml is of version {configuration_files.version}")
    if configuration_files.drop_in != build_drop_in(restrict_oom_score_adj=view.spec.containerd.restrict_oom_score_adj):
        differences.append(f"{DROP_IN} has different content" if configuration_files.drop_in else f"no {DROP_IN}")
    if not IMPORTS & set(configuration_files.imports):
        differences.append("config.toml does not import conf.d")
    if disabled_plugins := set(CRI) & set(configuration_files.disabled_plugins.get("config.toml", ())):
        differences.append(f"config.toml disables {format_value(disabled_plugins)}")
    if not differences:
        return None
    docker_note = "; containerd is restarted for it, and the containers of Docker keep running"
    return Result(
        "configuration of containerd",
        "gpustack's, imported",
        format_value(differences) + (docker_note if view[PACKAGES][DOCKER_CE] else ""),
    )


def cri_disabled_elsewhere(view: View) -> Result | None:
    """The other files in conf.d do not disable CRI."""
    files = find_disabling_files(view)
    hint = Prose("take cri out of disabled_plugins there")
    return Result("files that disable CRI", "none", format_value(files), "operator", hint=hint) if files else None


def find_disabling_files(view: View) -> list[str]:
    """Find files of others, below /etc/containerd, that disable CRI."""
    disabled_plugins = view[CONFIGURATION].disabled_plugins
    return [name for name, plugins in disabled_plugins.items() if name != "config.toml" and set(CRI) & set(plugins)]


def build_drop_in(*, restrict_oom_score_adj: bool) -> dict[str, Any]:
    """Build what conf.d/gpustack.toml says (roles/containerd/templates), as containerd reads it."""
    runtime = {
        "restrict_oom_score_adj": restrict_oom_score_adj,
        "cni": {"bin_dir": "", "bin_dirs": ["/opt/cni/bin"]},
        "containerd": {"runtimes": {"runc": {"options": {"SystemdCgroup": True}}}},
    }
    images = {"registry": {"config_path": "/etc/containerd/certs.d"}}
    plugins = {"io.containerd.cri.v1.images": images, "io.containerd.cri.v1.runtime": runtime}
    return {"version": VERSION, "plugins": plugins}


def mirrors(view: View) -> Result | None:
    """Images are pulled only from the mirror of the spec; without a mirror, no mirror configuration of gpustack
    remains."""
    mirror_files, address = view[MIRRORS], resolve_mirror(view.spec)
    foreign_registries = [name for name in REGISTRIES if name in mirror_files and not mirror_files[name].is_managed]
    if address and foreign_registries:
        hint = Prose("move /etc/containerd/certs.d/REGISTRY/hosts.toml away")
        return Result(
            "hosts.toml", f"for {address}", f"different for {format_value(foreign_registries)}", "operator", hint=hint
        )
    login = "same, mode 0600" if isinstance(view.spec.source, Mirror) and view.spec.source.user else ""
    expected_mirrors = dict.fromkeys(REGISTRIES, (address, (address,), login)) if address else {}
    managed_mirrors = {
        name: (mirror.server, mirror.hosts, mirror.login) for name, mirror in mirror_files.items() if mirror.is_managed
    }
    mismatched_registries = sorted(
        name
        for name in {*expected_mirrors, *managed_mirrors}
        if expected_mirrors.get(name) != managed_mirrors.get(name)
    )
    return (
        Result("registry mirror", address or "none", f"different for {format_value(mismatched_registries)}")
        if mismatched_registries
        else None
    )


def egress(view: View) -> Result | None:
    """The login of the mirror is configured for apt, and the proxy for containerd in systemd, if the spec has them."""
    return find_file_mismatch(view, "containerd")


CHECKS = (readable, root_version, configuration, cri_disabled_elsewhere, mirrors, egress)
