"""Recent changes near a root cause, within a day and on its hosts: packages that apt changed, daemons that started, and
their files. They are a hint and no evidence."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from gpustack.ask.judge import Judgement, format_value
from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.finding import Finding, RecentChange
from gpustack.doctor.graph import load_graph
from gpustack.probes.host.recent_changes import PACKAGES, TIMES
from gpustack.probes.host.units import UNITS

PROBES: tuple[Probe[Any], ...] = (PACKAGES, TIMES)
"""Probes that nothing else reads."""
DAY = 24 * 3600
MAX_HOSTS = 10
"""The number of hosts of one root cause that are searched."""
Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Part:
    """Name the packages and files of a subject by the beginnings of their names, and its unit, one of UNITS."""

    packages: tuple[str, ...]
    files: tuple[str, ...] = ()
    unit: str = ""


RUNTIME = Part(("containerd", "runc", "docker", "nvidia-container-toolkit"), ("/etc/containerd/",), "containerd")
KUBELET = Part(("kubelet", "kubeadm"), ("/etc/kubernetes/", "/etc/default/kubelet", "/var/lib/kubelet/"), "kubelet")
FILTER = Part(("ufw", "nftables", "iptables", "firewalld"), ("/etc/ufw/", "/etc/nftables", "/etc/iptables/"))
KERNEL = Part(("linux-image", "linux-modules"), ("/etc/sysctl.", "/etc/modprobe.d/"))
GPU = Part(("nvidia", "libnvidia", "cuda", "linux-image", "dkms"), ("/etc/modprobe.d/",))
PARTS = {
    "containerd": RUNTIME, "firewall": FILTER, "gpu": GPU, "gpu-host": GPU, "kernel": KERNEL, "kubeadm": KUBELET,
    "kubelet": KUBELET, "packages": Part(("",), ("/etc/apt/",)),
}  # fmt: skip
"""Parts by the layer of the fault, and by the subjects of the probes that its check read on the host."""


def find_recent_changes(root: Finding, snapshot: Snapshot) -> tuple[RecentChange, ...]:
    """Find the changes on the first MAX_HOSTS hosts of a root cause, the newest first. A root cause of the cluster has
    none."""
    changes = (
        change
        for judgement in root.judgements[:MAX_HOSTS]
        if judgement.location != CLUSTER
        for change in find_host_changes(judgement, snapshot)
    )
    return tuple(
        sorted(
            set(changes),
            key=lambda recent_change: (recent_change.seconds_ago, recent_change.location, recent_change.description),
        )
    )


def find_host_changes(judgement: Judgement, snapshot: Snapshot) -> Iterator[RecentChange]:
    read = {
        entry.answer.probe.partition(".")[0]
        for entry in judgement.evidence
        if entry.answer.location == judgement.location
    }
    parts = [part for subject, part in PARTS.items() if subject in {*read, load_graph()[judgement.id].layer}]
    packages = tuple(name for part in parts for name in part.packages)
    for apt in find_fact(snapshot, PACKAGES, judgement.location) or ():
        if names := [name for name in apt.packages if name.startswith(packages)]:
            yield RecentChange(judgement.location, apt.seconds_ago, f"apt: {apt.action} {shorten_names(names)}")
    if (times := find_fact(snapshot, TIMES, judgement.location)) is None:
        return
    units = find_fact(snapshot, UNITS, judgement.location) or {}
    for part in dict.fromkeys(parts):
        unit = units.get(part.unit)
        started_at = unit.active_since if unit else None
        if started_at is not None and times.current_time - started_at < DAY:
            yield RecentChange(judgement.location, max(times.current_time - started_at, 0), f"{part.unit} started")
        for path, written_at in times.modified_files:
            if path.startswith(part.files):
                late = f", after {part.unit} had started" if started_at is not None and started_at < written_at else ""
                yield RecentChange(judgement.location, max(times.current_time - written_at, 0), f"{path} written{late}")


def find_fact(snapshot: Snapshot, probe: Probe[Fact], location: str) -> Fact | None:
    """Return the fact of a probe at a location, or None where it is unknown."""
    try:
        return snapshot.require_fact(probe, location)
    except FactUnavailable:
        return None


def shorten_names(names: list[str], limit: int = 4) -> str:
    return format_value(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
