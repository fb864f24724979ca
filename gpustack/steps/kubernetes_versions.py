"""Check of step kubernetes: the installed version, and the way to another one (kubernetes.io version-skew-policy)."""

import re

from gpustack.ask.judge import Mismatch, said
from gpustack.ask.view import View
from gpustack.config.resolved import kubernetes_version_of
from gpustack.probes.packages import PACKAGES

VERSIONED = ("kubelet", "kubeadm", "kubectl")


def versions(here: View) -> Mismatch | None:
    """What is installed has the version of the spec."""
    wanted, found = kubernetes_version_of(here.spec), here[PACKAGES]
    other = {name: package.version for name in VERSIONED if (package := found[name]) and package.version != wanted}
    if not other:
        return None
    listed = said([f"{name} {version}" for name, version in other.items()])
    return Mismatch("versions", wanted, listed, "upgrade", hint=way(max(other.values(), key=numbers), wanted))


def way(found: str, wanted: str) -> str:
    """What to do about another version: kubeadm goes on by one minor version at a time, and never back."""
    here, there = numbers(found), numbers(wanted)
    if here > there:
        return f"Kubernetes cannot go back: set kubernetes.version to {found} or newer in the spec"
    if there[1] - here[1] > 1:
        return f"one minor version at a time: first set kubernetes.version to a patch of {here[0]}.{here[1] + 1}"
    return "gpustack explain upgrade-needed"


def numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", f"{version}.0.0")[:3])
