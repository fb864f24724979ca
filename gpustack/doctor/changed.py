"""What became different lately on the hosts of a root, of all that the host knows when: what apt did, files that were
written, daemons that started, a boot, certificates that ended. Only what touches what the root is about.

It proves nothing, and clears nothing: the check did.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from gpustack.ask.judge import Judgement, said
from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.finding import Finding
from gpustack.doctor.graph import graph
from gpustack.probes.kubeadm import CERTIFICATES
from gpustack.probes.kubelet_start import SHOWN
from gpustack.probes.lately import PACKAGES, TIMES
from gpustack.probes.units import UNITS

PROBES: tuple[Probe[Any], ...] = (PACKAGES, TIMES)
"""What nothing else reads."""
DAY = 24 * 3600
MOST = 10
"""Hosts of one root that are looked at."""
Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Topic:
    """What can change what a probe says: `packages` and `files` are patterns, `units` are of UNITS; `boot`: it does not
    outlive the kernel that runs."""

    packages: str
    files: str
    units: tuple[str, ...] = ()
    boot: bool = False


@dataclass(frozen=True)
class Change:
    """`ago` in seconds before the host was asked, by its own clock."""

    where: str
    ago: int
    what: str


RUNTIME = Topic(
    r"containerd(\.io)?|runc|docker.*|cri-dockerd|nvidia-container-toolkit",
    r"/etc/containerd/|/etc/systemd/system/containerd\.service|/etc/environment",
    ("containerd",),
)
KERNEL = Topic(
    r"linux-(image|modules|headers)-.*|procps",
    r"/etc/(sysctl\.|modules|modprobe\.d/|fstab)",
    boot=True,
)
FILTER = Topic(
    r"ufw|nftables|iptables.*|firewalld|docker.*", r"/etc/(ufw|nftables|iptables|firewalld|default/ufw)", boot=True
)
KUBELET = Topic(
    r"kube(let|adm|ctl)|kubernetes-cni|cri-tools",
    r"/etc/(kubernetes|default/kubelet|systemd/system/kubelet)|/var/lib/kubelet/",
    ("kubelet",),
)
NETWORK = Topic(
    r"netplan.*|network-manager|ifupdown|systemd-resolved|resolvconf|kubernetes-cni",
    r"/etc/(netplan|network|systemd/(network|resolved)|resolv\.conf|hosts|hostname|cni)",
    boot=True,
)
GPU = Topic(
    r"(lib)?(nvidia|cuda|xserver-xorg-video-nvidia).*|linux-(image|modules|headers)-.*|dkms",
    r"/etc/(modprobe\.d|modules|containerd/)",
    boot=True,
)
APT = Topic(r".*", r"/etc/apt/")
TOPICS = {
    "apt": APT, "checksums": NETWORK, "cni": NETWORK, "containerd": RUNTIME,
    "dns": NETWORK, "egress": NETWORK, "firewall": FILTER,
    "flannel": NETWORK, "gpu": GPU, "gpu-host": GPU, "kernel": KERNEL, "kube-proxy": FILTER,
    "kubeadm": KUBELET, "kubelet": KUBELET,
    "nameservers": NETWORK, "network": NETWORK, "packages": APT, "reach": NETWORK, "resolver": NETWORK,
}  # fmt: skip
"""By the layer of the fault, and the subjects of the probes that its check read on the host."""
ENDING = {"kubeadm.certificates", "kubelet.certificate"}


def changed(root: Finding, snapshot: Snapshot) -> tuple[Change, ...]:
    """The newest first, of the first MOST hosts. Nothing of a root of the cluster."""
    found = (change for one in root.judged[:MOST] if one.where != CLUSTER for change in on_host(one, snapshot))
    return tuple(sorted(set(found), key=lambda one: (one.ago, one.where, one.what)))


def on_host(one: Judgement, snapshot: Snapshot) -> Iterator[Change]:
    read = {seen.answer.probe for seen in one.evidence if seen.answer.where == one.where}
    subjects = {id.partition(".")[0] for id in read} | {graph()[one.id].layer}
    topics = [topic for subject, topic in TOPICS.items() if subject in subjects]
    for apt in fact(snapshot, PACKAGES, one.where) or ():
        names = [name for name in apt.packages if any(re.fullmatch(topic.packages, name) for topic in topics)]
        if names:
            yield Change(one.where, apt.ago, f"apt: {apt.how} {shortened(names)}")
    times = fact(snapshot, TIMES, one.where)
    if times is None:
        return
    units = {name for topic in topics for name in topic.units}
    known = fact(snapshot, UNITS, one.where) or {}
    begun = {name: unit.since for name in sorted(units) if (unit := known.get(name)) and unit.since is not None}
    for path, at in times.written:
        about = [topic for topic in topics if re.match(topic.files, path)]
        daemons = [name for topic in about for name in topic.units if begun.get(name, at) < at]
        late = f", after {daemons[0]} had started" if daemons else ""
        if about:
            yield Change(one.where, max(times.now - at, 0), f"{path} written{late}")
    events = {f"{name} started": at for name, at in begun.items()}
    if times.booted and any(topic.boot for topic in topics):
        events["booted"] = times.booted
    for what, at in events.items():
        if times.now - at < DAY:
            yield Change(one.where, max(times.now - at, 0), what)
    yield from (Change(one.where, times.now - end, what) for what, end in ended(one, snapshot, read) if end < times.now)


def ended(one: Judgement, snapshot: Snapshot, read: set[str]) -> Iterator[tuple[str, int]]:
    """Certificates with their last second, where the check looked at any."""
    if not read & ENDING:
        return
    for certificate in fact(snapshot, CERTIFICATES, one.where) or ():
        yield f"certificate of {certificate.subject} ended", int(certificate.expires.timestamp())
    if shown := fact(snapshot, SHOWN, one.where):
        yield f"certificate in {shown.place} ended", int(shown.ends.timestamp())


def fact(snapshot: Snapshot, probe: Probe[Fact], where: str) -> Fact | None:
    """None where it cannot be told: that is no evidence."""
    try:
        return snapshot.fact(probe, where)
    except FactUnavailable:
        return None


def shortened(names: list[str], most: int = 4) -> str:
    return said(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
