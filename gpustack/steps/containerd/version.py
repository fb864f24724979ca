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
    `containerd.version`, it is that version, or a patch of that line. Another patch of such a line is not drift, unless
    it is one of the first that have a known defect. A repository that offers only those gives a host none."""
    package = view[PACKAGES]["containerd.io"]
    if not package:
        if unfit_version := find_unfit_offer(view):
            expected, actual = (
                describe_expected_version(view),
                f"nothing; offered {describe_version(view, unfit_version)}",
            )
            hint = Command("gpustack", "explain", "containerd-offered")
            return Result("containerd.io", expected, actual, "operator", hint=hint)
        return Result("containerd.io", describe_install_version(view), "nothing")
    if fits_spec(view, package.version):
        return None
    hint = Command("gpustack", "explain", "upgrade-needed")
    actual = describe_version(view, package.version)
    return Result("containerd.io", describe_expected_version(view), actual, "upgrade", hint=hint)


def find_unfit_offer(view: View) -> str:
    """Find the newest version that the repository offers to the host, where it does not fit the spec."""
    if RELEASE.fullmatch(resolve_containerd_version(view.spec)) or not view.has_fact(CONTAINERD_OFFERS):
        return ""
    newest_version = next((offer.version for offer in view[CONTAINERD_OFFERS] if offer.available), "")
    return "" if not newest_version or fits_spec(view, newest_version) else newest_version


def fits_spec(view: View, candidate: str) -> bool:
    """Tell whether a version fits the spec. One before its release, or before the first good patch of its line, fits
    only where the spec names it."""
    spec_version = view.spec.containerd.version
    if candidate == spec_version:
        return True
    if not RELEASE.fullmatch(candidate) or (spec_version and parse_minor(candidate) != spec_version):
        return False
    if minimum := map_minimum_versions(view).get(parse_minor(candidate)):
        return parse_patch(candidate) >= parse_patch(minimum)
    return bool(spec_version)


def map_minimum_versions(view: View) -> dict[str, str]:
    """Map each line that serves the Kubernetes of the spec to its first good version."""
    versions = view.versions.containerd_lines[parse_minor(resolve_kubernetes_version(view.spec))]
    return {parse_minor(minimum): minimum for minimum in versions}


def parse_patch(version: str) -> int:
    return int(version.split(".")[2])


def describe_version(view: View, candidate: str) -> str:
    """Describe a version that does not fit, with the defect for which the first patches of its line are refused."""
    line = parse_minor(candidate)
    defect, minimum = view.versions.containerd_defects.get(line), map_minimum_versions(view).get(line)
    if not RELEASE.fullmatch(candidate) or not defect or not minimum:
        return candidate
    return f"{candidate}: {defect}" if parse_patch(candidate) < parse_patch(minimum) else candidate


def describe_expected_version(view: View) -> str:
    spec_version, minimum_versions = view.spec.containerd.version, map_minimum_versions(view)
    if spec_version and spec_version not in minimum_versions:
        return spec_version if RELEASE.fullmatch(spec_version) else f"a patch of {spec_version}"
    kubernetes = parse_minor(resolve_kubernetes_version(view.spec))
    lines = (
        f"{minimum} or newer of {line}"
        for line, minimum in minimum_versions.items()
        if spec_version in (None, "", line)
    )
    return f"{' or '.join(lines)}, for Kubernetes {kubernetes}"


def describe_install_version(view: View) -> str:
    """Describe the version that a host without containerd.io gets, and the reason."""
    spec_version, choice = resolve_containerd_version(view.spec), choose_version(view)
    if choice == spec_version:
        return spec_version
    newest_version = f"the newest {spec_version} of its repository"
    plane = view.select_host(view.acting_host)
    if not choice:
        return newest_version
    if (package := plane[PACKAGES]["containerd.io"]) and package.version == choice:
        return f"{choice}, as on {view.acting_host}"
    missing_versions = [offer.version for offer in plane[CONTAINERD_OFFERS] if not offer.available]
    return f"{choice}, {newest_version}" + "".join(
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
    return next((offer.version for offer in offers if offer.available and fits_spec(view, offer.version)), "")
