"""Checks of step kubernetes: origin and version of the packages, and how to change the version (kubernetes.io
version-skew-policy)."""

import re

from gpustack.ask.judge import Result, as_text
from gpustack.ask.view import View
from gpustack.command import Command, Hint, Prose
from gpustack.config.resolved import kubernetes_version_of
from gpustack.probes.packages.software import PACKAGES

VERSIONED = ("kubelet", "kubeadm", "kubectl")


def origin(here: View) -> Result | None:
    """The packages are those of Kubernetes. The Google Cloud CLI has a kubectl with the same name, maintainer and path
    but its own version numbers (1:528.0.0-0): only the number distinguishes it from that of Kubernetes."""
    foreign = foreign_packages(here)
    if not foreign:
        return None
    hint = Command("apt-get", "remove", *foreign, note="install replaces them with those of Kubernetes")
    found = as_text([f"{name} {version} of the Google Cloud CLI" for name, version in foreign.items()])
    return Result("packages", "those of Kubernetes", found, "operator", hint=hint)


def foreign_packages(here: View) -> dict[str, str]:
    """Versions by name. Kubernetes is at 1.x: what counts otherwise is another program's."""
    found = {name: package.version for name in VERSIONED if (package := here[PACKAGES][name])}
    return {name: version for name, version in found.items() if numbers(version)[0] != 1}


def versions(here: View) -> Result | None:
    """The installed packages have the version of the spec."""
    wanted, found = kubernetes_version_of(here.spec), here[PACKAGES]
    ours = [name for name in VERSIONED if name not in foreign_packages(here)]
    other = {name: package.version for name in ours if (package := found[name]) and package.version != wanted}
    if not other:
        return None
    listed = as_text([f"{name} {version}" for name, version in other.items()])
    return Result("versions", wanted, listed, "upgrade", hint=way(max(other.values(), key=numbers), wanted))


def way(found: str, wanted: str) -> Hint:
    """What to do about another version: kubeadm goes on by one minor version at a time, and never back."""
    here, there = numbers(found), numbers(wanted)
    if here > there:
        return Prose("Kubernetes cannot go back: set kubernetes.version to {} or newer in the spec", found)
    if there[1] - here[1] > 1:
        following = f"{here[0]}.{here[1] + 1}"
        return Prose("one minor version at a time: first set kubernetes.version to a patch of {}", following)
    return Command("gpustack", "explain", "upgrade-needed")


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", f"{version}.0.0")[:3])
