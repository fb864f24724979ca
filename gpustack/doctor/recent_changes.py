"""What changed within a day on the hosts of a root cause, near the cause: packages that apt changed, daemons that
started, and their files. It proves nothing and clears nothing: the check did.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from gpustack.ask.judge import Judgement, as_text
from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.finding import Finding
from gpustack.doctor.graph import graph
from gpustack.probes.host.recent_changes import PACKAGES, TIMES
from gpustack.probes.host.units import UNITS

PROBES: tuple[Probe[Any], ...] = (PACKAGES, TIMES)
"""What nothing else reads."""
DAY = 24 * 3600
MOST = 10
"""Hosts of one root cause that are looked at."""
Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Part:
    """`packages` and `files` are beginnings of names, `unit` is one of UNITS."""

    packages: tuple[str, ...]
    files: tuple[str, ...] = ()
    unit: str = ""


@dataclass(frozen=True)
class Change:
    """`ago` in seconds before the host was asked, by its own clock."""

    where: str
    ago: int
    what: str


RUNTIME = Part(("containerd", "runc", "docker", "nvidia-container-toolkit"), ("/etc/containerd/",), "containerd")
KUBELET = Part(("kubelet", "kubeadm"), ("/etc/kubernetes/", "/etc/default/kubelet", "/var/lib/kubelet/"), "kubelet")
FILTER = Part(("ufw", "nftables", "iptables", "firewalld"), ("/etc/ufw/", "/etc/nftables", "/etc/iptables/"))
KERNEL = Part(("linux-image", "linux-modules"), ("/etc/sysctl.", "/etc/modprobe.d/"))
GPU = Part(("nvidia", "libnvidia", "cuda", "linux-image", "dkms"), ("/etc/modprobe.d/",))
PARTS = {
    "containerd": RUNTIME, "firewall": FILTER, "gpu": GPU, "gpu-host": GPU, "kernel": KERNEL, "kubeadm": KUBELET,
    "kubelet": KUBELET, "packages": Part(("",), ("/etc/apt/",)),
}  # fmt: skip
"""By the layer of the fault, and the subjects of the probes that its check read on the host."""


def changed(root: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """The newest first, of the first MOST hosts. Nothing of a root cause of the cluster."""
    found = (change for one in root.judged[:MOST] if one.where != CLUSTER for change in on_host(one, snapshot))
    return tuple(sorted(set(found), key=lambda one: (one.ago, one.where, one.what)))


def on_host(one: Judgement, snapshot: Snapshot) -> Iterator[Change]:
    read = {entry.answer.probe.partition(".")[0] for entry in one.evidence if entry.answer.where == one.where}
    parts = [part for subject, part in PARTS.items() if subject in {*read, graph()[one.id].layer}]
    packages = tuple(name for part in parts for name in part.packages)
    for apt in fact(snapshot, PACKAGES, one.where) or ():
        if names := [name for name in apt.packages if name.startswith(packages)]:
            yield Change(one.where, apt.ago, f"apt: {apt.how} {shortened(names)}")
    if (times := fact(snapshot, TIMES, one.where)) is None:
        return
    known = fact(snapshot, UNITS, one.where) or {}
    for part in dict.fromkeys(parts):
        unit = known.get(part.unit)
        begun = unit.since if unit else None
        if begun is not None and times.now - begun < DAY:
            yield Change(one.where, max(times.now - begun, 0), f"{part.unit} started")
        for path, at in times.written:
            if path.startswith(part.files):
                late = f", after {part.unit} had started" if begun is not None and begun < at else ""
                yield Change(one.where, max(times.now - at, 0), f"{path} written{late}")


def fact(snapshot: Snapshot, probe: Probe[Fact], where: str) -> Fact | None:
    """None where it is unknown: that is no evidence."""
    try:
        return snapshot.fact(probe, where)
    except FactUnavailable:
        return None


def shortened(names: list[str], most: int = 4) -> str:
    return as_text(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
