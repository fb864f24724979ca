"""Checks of step kubernetes: origin and version of the packages, and how to change the version (kubernetes.io
version-skew-policy)."""

import re

from gpustack.ask.judge import Result, format_value
from gpustack.ask.view import View
from gpustack.command import Command, Hint, Prose
from gpustack.config.resolution import resolve_kubernetes_version
from gpustack.probes.packages.software import PACKAGES

KUBERNETES_PACKAGES = ("kubelet", "kubeadm", "kubectl")


def origin(view: View) -> Result | None:
    """The packages are those of Kubernetes. The Google Cloud CLI has a kubectl with the same name, maintainer and path
    but its own version numbers (1:528.0.0-0): only the number distinguishes it from that of Kubernetes."""
    foreign_packages = find_foreign_packages(view)
    if not foreign_packages:
        return None
    hint = Command("apt-get", "remove", *foreign_packages, note="install replaces them with those of Kubernetes")
    actual = format_value([f"{name} {version} of the Google Cloud CLI" for name, version in foreign_packages.items()])
    return Result("packages", "those of Kubernetes", actual, "operator", hint=hint)


def find_foreign_packages(view: View) -> dict[str, str]:
    """Find packages of another program, with their versions. Kubernetes is at 1.x: other versions are another
    program's."""
    package_versions = {name: package.version for name in KUBERNETES_PACKAGES if (package := view[PACKAGES][name])}
    return {name: version for name, version in package_versions.items() if parse_version(version)[0] != 1}


def versions(view: View) -> Result | None:
    """The installed packages have the version of the spec."""
    expected_version, packages = resolve_kubernetes_version(view.spec), view[PACKAGES]
    names = [name for name in KUBERNETES_PACKAGES if name not in find_foreign_packages(view)]
    deviations = {
        name: package.version for name in names if (package := packages[name]) and package.version != expected_version
    }
    if not deviations:
        return None
    actual = format_value([f"{name} {version}" for name, version in deviations.items()])
    return Result(
        "versions",
        expected_version,
        actual,
        "upgrade",
        hint=advise_version_change(max(deviations.values(), key=parse_version), expected_version),
    )


def advise_version_change(actual_version: str, expected_version: str) -> Hint:
    """Advise what to do about another version: kubeadm goes on by one minor version at a time, and never back."""
    actual_numbers, expected_numbers = parse_version(actual_version), parse_version(expected_version)
    if actual_numbers > expected_numbers:
        return Prose("Kubernetes cannot go back: set kubernetes.version to {} or newer in the spec", actual_version)
    if expected_numbers[1] - actual_numbers[1] > 1:
        next_version = f"{actual_numbers[0]}.{actual_numbers[1] + 1}"
        return Prose("one minor version at a time: first set kubernetes.version to a patch of {}", next_version)
    return Command("gpustack", "explain", "upgrade-needed")


def parse_version(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", f"{version}.0.0")[:3])
