"""Checks of step containerd: its configuration files."""

from typing import Any

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Prose
from gpustack.config.resolved import mirror_of
from gpustack.config.spec import Mirror
from gpustack.probes.containerd.daemon import CONFIGURATION, DROP_IN, MIRRORS, REGISTRIES
from gpustack.probes.packages.software import DOCKER_CE, PACKAGES
from gpustack.steps.egress_files import files_mismatch

IMPORTS = {"/etc/containerd/conf.d/*.toml", "/etc/containerd/conf.d/gpustack.toml"}
CRI = ("cri", "io.containerd.grpc.v1.cri", "io.containerd.cri.v1.runtime", "io.containerd.cri.v1.images")


def readable(here: View) -> Result | None:
    """The files are valid TOML: with an invalid one, containerd does not start again."""
    broken = [f"{name}: {why}" for name, why in here[CONFIGURATION].broken.items()]
    hint = Prose("correct the file; containerd config dump shows whether it can be read")
    return (
        Result("configuration files of containerd", "valid TOML", as_text(broken), "operator", hint=hint)
        if broken
        else None
    )


def configuration(here: View) -> Result | None:
    """config.toml imports our file, whose content is as expected, and does not disable CRI."""
    found = here[CONFIGURATION]
    wrong = []
    if found.drop_in != drop_in(restrict_oom_score_adj=here.spec.containerd.restrict_oom_score_adj):
        wrong.append(f"{DROP_IN} has different content" if found.drop_in else f"no {DROP_IN}")
    if not IMPORTS & set(found.imports):
        wrong.append("config.toml does not import conf.d")
    if disabled := set(CRI) & set(found.disabled.get("config.toml", ())):
        wrong.append(f"config.toml disables {as_text(disabled)}")
    if not wrong:
        return None
    shared = "; containerd is restarted for it, and the containers of Docker keep running"
    return Result(
        "configuration of containerd",
        "gpustack's, imported",
        as_text(wrong) + (shared if here[PACKAGES][DOCKER_CE] else ""),
    )


def cri_disabled_elsewhere(here: View) -> Result | None:
    """No other file in conf.d disables CRI."""
    files = disabling(here)
    hint = Prose("take cri out of disabled_plugins there")
    return Result("files that disable CRI", "none", as_text(files), "operator", hint=hint) if files else None


def disabling(here: View) -> list[str]:
    """Files of others, below /etc/containerd."""
    disabled = here[CONFIGURATION].disabled
    return [name for name, plugins in disabled.items() if name != "config.toml" and set(CRI) & set(plugins)]


def drop_in(*, restrict_oom_score_adj: bool) -> dict[str, Any]:
    """What conf.d/gpustack.toml says (roles/containerd/templates), as containerd reads it."""
    runtime = {
        "restrict_oom_score_adj": restrict_oom_score_adj,
        "cni": {"bin_dir": "", "bin_dirs": ["/opt/cni/bin"]},
        "containerd": {"runtimes": {"runc": {"options": {"SystemdCgroup": True}}}},
    }
    images = {"registry": {"config_path": "/etc/containerd/certs.d"}}
    plugins = {"io.containerd.cri.v1.images": images, "io.containerd.cri.v1.runtime": runtime}
    return {"version": 3, "plugins": plugins}


def mirrors(here: View) -> Result | None:
    """Images are pulled only from the mirror of the spec; without a mirror, no mirror configuration of ours remains."""
    found, address = here[MIRRORS], mirror_of(here.spec)
    foreign = [name for name in REGISTRIES if name in found and not found[name].ours]
    if address and foreign:
        hint = Prose("move /etc/containerd/certs.d/REGISTRY/hosts.toml away")
        return Result("hosts.toml", f"for {address}", f"different for {as_text(foreign)}", "operator", hint=hint)
    login = "same, mode 0600" if isinstance(here.spec.source, Mirror) and here.spec.source.user else ""
    wanted = dict.fromkeys(REGISTRIES, (address, (address,), login)) if address else {}
    ours = {name: (mirror.server, mirror.hosts, mirror.login) for name, mirror in found.items() if mirror.ours}
    wrong = sorted(name for name in {*wanted, *ours} if wanted.get(name) != ours.get(name))
    return Result("registry mirror", address or "none", f"different for {as_text(wrong)}") if wrong else None


def egress(here: View) -> Result | None:
    """apt has the login of the mirror, and systemd the proxy for containerd, if the spec has them."""
    return files_mismatch(here, "containerd")


CHECKS = (readable, configuration, cri_disabled_elsewhere, mirrors, egress)
