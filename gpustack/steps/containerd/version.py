"""Check of step containerd: the installed version, and the patch version for a host that has none.

The version set names a release line (2.3); which patches of it are packaged and kept is up to the vendor. The patch is
chosen once for the cluster, by what its acting control plane runs or is offered.
"""

import re

from gpustack.ask.judge import Result
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.config.resolution import resolve_containerd_version, resolve_kubernetes_version
from gpustack.config.versions import parse_minor
from gpustack.probes.containerd.candidates import CONTAINERD_OFFERS
from gpustack.probes.packages.software import PACKAGES

RELEASE = re.compile(r"\d+\.\d+\.\d+")


def version(view: View) -> Result | None:
    """The version of containerd.io is of a release line that supports this Kubernetes; if the spec has
    `containerd.version`, it is that version, or a patch of that line. Another patch of such a line is not drift."""
    package = view[PACKAGES]["containerd.io"]
    if not package:
        return Result("containerd.io", describe_install_version(view), "nothing")
    if fits_spec(view, package.version):
        return None
    hint = Command("gpustack", "explain", "upgrade-needed")
    return Result("containerd.io", describe_expected_version(view), package.version, "upgrade", hint=hint)


def fits_spec(view: View, candidate: str) -> bool:
    """Tell whether a version fits the spec. A version before its release fits only where the spec names it."""
    spec_version = view.spec.containerd.version
    if candidate == spec_version:
        return True
    if not RELEASE.fullmatch(candidate) or (spec_version and parse_minor(candidate) != spec_version):
        return False
    return bool(spec_version) or any(
        parse_minor(candidate) == parse_minor(minimum) and parse_patch(candidate) >= parse_patch(minimum)
        for minimum in list_minimum_versions(view)
    )


def list_minimum_versions(view: View) -> tuple[str, ...]:
    """List the first version of each line that serves the Kubernetes of the spec."""
    return view.versions.containerd_lines[parse_minor(resolve_kubernetes_version(view.spec))]


def parse_patch(version: str) -> int:
    return int(version.split(".")[2])


def describe_expected_version(view: View) -> str:
    if spec_version := view.spec.containerd.version:
        return spec_version if RELEASE.fullmatch(spec_version) else f"a patch of {spec_version}"
    kubernetes = parse_minor(resolve_kubernetes_version(view.spec))
    lines = (f"{minimum} or newer of {parse_minor(minimum)}" for minimum in list_minimum_versions(view))
    return f"{' or '.join(lines)}, for Kubernetes {kubernetes}"


def describe_install_version(view: View) -> str:
    """Describe the version that a host without containerd.io gets, and the reason."""
    spec_version, choice = resolve_containerd_version(view.spec), choose_version(view)
    if choice == spec_version:
        return spec_version
    newest = f"the newest {spec_version} of its repository"
    plane = view.select_host(view.acting_host)
    if not choice:
        return newest
    if (package := plane[PACKAGES]["containerd.io"]) and package.version == choice:
        return f"{choice}, as on {view.acting_host}"
    missing_versions = [offer.version for offer in plane[CONTAINERD_OFFERS] if not offer.available]
    return f"{choice}, {newest}" + "".join(
        f"; the file of {missing_version} is not there (404)" for missing_version in missing_versions
    )


def choose_version(view: View) -> str:
    """Choose the version of the spec where that is a full one; else what the acting control plane has, else the newest
    that it is offered. Return an empty text where that is unknown, or nothing is offered: then each host takes the
    newest it is offered."""
    spec_version = resolve_containerd_version(view.spec)
    if not view.hosts:
        return ""
    plane = view.select_host(view.acting_host)
    if RELEASE.fullmatch(spec_version):
        return spec_version
    if plane.has_fact(PACKAGES) and (package := plane[PACKAGES]["containerd.io"]) and fits_spec(view, package.version):
        return package.version
    offers = plane[CONTAINERD_OFFERS] if plane.has_fact(CONTAINERD_OFFERS) else ()
    return next((offer.version for offer in offers if offer.available), "")
