"""Check of step containerd: the installed version, and the patch version for a host that has none.

The version set names a release line (2.3); which patches of it are packaged and kept is up to the vendor. The patch is
chosen once for the cluster, by what its acting control plane runs or is offered.
"""

import re

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.resolved import containerd_version_of, kubernetes_version_of
from gpustack.config.versions import minor
from gpustack.probes.containerd.candidates import OFFERED
from gpustack.probes.packages.software import PACKAGES

RELEASE = re.compile(r"\d+\.\d+\.\d+")


def version(here: View) -> Result | None:
    """containerd.io is of a release line that supports this Kubernetes; if the spec has `containerd.version`, it is
    that version, or a patch of that line. Another patch of such a line is not drift."""
    found = here[PACKAGES]["containerd.io"]
    if not found:
        return Result("containerd.io", missing(here), "nothing")
    if fits(here, found.version):
        return None
    hint = Command("gpustack", "explain", "upgrade-needed")
    return Result("containerd.io", expected(here), found.version, "upgrade", hint=hint)


def fits(here: View, found: str) -> bool:
    """A version before its release fits only where the spec names it."""
    wanted = here.spec.containerd.version
    if found == wanted:
        return True
    if not RELEASE.fullmatch(found) or (wanted and minor(found) != wanted):
        return False
    return bool(wanted) or any(minor(found) == minor(least) and patch(found) >= patch(least) for least in lines(here))


def lines(here: View) -> tuple[str, ...]:
    """The first version of each line that serves the Kubernetes of the spec."""
    return here.versions.containerd_lines[minor(kubernetes_version_of(here.spec))]


def patch(version: str) -> int:
    return int(version.split(".")[2])


def expected(here: View) -> str:
    if wanted := here.spec.containerd.version:
        return wanted if RELEASE.fullmatch(wanted) else f"a patch of {wanted}"
    kubernetes = minor(kubernetes_version_of(here.spec))
    return f"{' or '.join(f'{least} or newer of {minor(least)}' for least in lines(here))}, for Kubernetes {kubernetes}"


def missing(here: View) -> str:
    """What a host without containerd.io gets, and why that."""
    wanted, chosen = containerd_version_of(here.spec), cluster_patch(here)
    if chosen == wanted:
        return wanted
    newest = f"the newest {wanted} of its repository"
    plane = here.on(here.acting)
    if not chosen:
        return newest
    if (found := plane[PACKAGES]["containerd.io"]) and found.version == chosen:
        return f"{chosen}, as on {here.acting}"
    gone = [offer.version for offer in plane[OFFERED] if not offer.there]
    return f"{chosen}, {newest}" + "".join(f"; the file of {one} is not there (404)" for one in gone)


def cluster_patch(here: View) -> str:
    """The version of the spec where that is a full one; else what the acting control plane has, else the newest that it
    is offered. Empty where that is unknown, or nothing is offered: then each host takes the newest it is offered."""
    wanted = containerd_version_of(here.spec)
    if not here.hosts:
        return ""
    plane = here.on(here.acting)
    if RELEASE.fullmatch(wanted):
        return wanted
    if plane.available(PACKAGES) and (found := plane[PACKAGES]["containerd.io"]) and fits(here, found.version):
        return found.version
    offered = plane[OFFERED] if plane.available(OFFERED) else ()
    return next((offer.version for offer in offered if offer.there), "")
