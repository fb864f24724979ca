"""Recent changes near a root cause, within a day and on its hosts: packages that apt changed, daemons that started, and
their files; before a state also who wrote to objects of the platform. They are a hint and no evidence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, TypeVar

from gpustack.ask.judge import Judgement, format_value
from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.finding import Finding
from gpustack.doctor.graph import load_graph
from gpustack.doctor.recent_change import RecentChange
from gpustack.doctor.states.state import AbnormalState
from gpustack.probes.host.recent_changes import PACKAGES, TIMES
from gpustack.probes.host.units import UNITS
from gpustack.probes.kubernetes.object_writes import OBJECT_WRITES, ObjectWrite

PROBES: tuple[Probe[Any], ...] = (PACKAGES, TIMES, *(probe for probes in OBJECT_WRITES.values() for probe in probes))
"""Probes that nothing else reads."""
DAY, HOUR, MINUTE = 24 * 3600, 3600, 60
CLOCK_TOLERANCE = 60
"""Seconds between the clock of a host and ours, half of which a slow answer may take."""
MANIFEST_PREFIX = "/etc/kubernetes/gpustack-"
"""The directories of manifests that steps apply: neither the kubelet nor the control plane reads them."""
MAX_HOSTS = 10
"""The number of hosts of one root cause that are searched."""
Fact = TypeVar("Fact")


@dataclass(frozen=True)
class Part:
    """Name the packages and files of a subject by the beginnings of their names, and its unit, one of UNITS."""

    packages: tuple[str, ...]
    files: tuple[str, ...] = ()
    unit: str = ""


RUNTIME = Part(
    ("containerd", "runc", "docker", "nvidia-container-toolkit"),
    ("/etc/containerd/", "/etc/systemd/system/containerd.service"),
    "containerd",
)
KUBELET = Part(
    ("kubelet", "kubeadm"),
    ("/etc/kubernetes/", "/etc/default/kubelet", "/var/lib/kubelet/", "/etc/systemd/system/kubelet.service"),
    "kubelet",
)
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
    """Find the changes on the host of a judgement in what its fault and its probes are about."""
    read = {
        entry.answer.probe.partition(".")[0]
        for entry in judgement.evidence
        if entry.answer.location == judgement.location
    }
    parts = [part for subject, part in PARTS.items() if subject in {*read, load_graph()[judgement.id].layer}]
    yield from list_changes(snapshot, judgement.location, parts)


def find_preceding_changes(state: AbnormalState, snapshot: Snapshot) -> tuple[RecentChange, ...]:
    """Find the changes on the hosts of a state and the writes to objects of the platform within HOUR before it began,
    the last one first. There are none where nothing says when it began, or where the clock of the host, or of a control
    plane, differs from ours: then the order is unknown."""
    if state.onset is None:
        return ()
    seconds_ago = (snapshot.started_at - state.onset).total_seconds()
    changes = [
        change
        for location in state.locations[:MAX_HOSTS]
        if location != CLUSTER and has_our_time(snapshot, location)
        for change in list_changes(snapshot, location, tuple(PARTS.values()))
        if seconds_ago <= change.seconds_ago <= seconds_ago + HOUR
    ]
    if all(has_our_time(snapshot, host.name) for host in snapshot.inventory.control_planes):
        changes += list_object_changes(snapshot, state.onset - timedelta(seconds=HOUR), state.onset)
    return tuple(sorted(set(changes), key=lambda change: (change.seconds_ago, change.location, change.description)))


def list_object_changes(snapshot: Snapshot, first: datetime, last: datetime) -> Iterator[RecentChange]:
    """List the writes to objects between two times. Those of one manager in the same MINUTE are one change."""
    groups: dict[tuple[str, int], dict[str, ObjectWrite]] = {}
    for kind, probes in OBJECT_WRITES.items():
        for write in (write for probe in probes for write in find_fact(snapshot, probe, CLUSTER) or ()):
            if first <= write.written_at <= last:
                minute = int(write.written_at.timestamp()) // MINUTE
                groups.setdefault((write.manager, minute), {})[f"{kind} {write.name}"] = write
    for (manager, _), writes in groups.items():
        newest_time = max(write.written_at for write in writes.values())
        seconds_ago = max(int((snapshot.started_at - newest_time).total_seconds()), 0)
        yield RecentChange(CLUSTER, seconds_ago, f"{manager} wrote {shorten_names(sorted(writes))}")


def has_our_time(snapshot: Snapshot, location: str) -> bool:
    times = find_fact(snapshot, TIMES, location)
    return times is not None and abs(times.current_time - snapshot.started_at.timestamp()) < CLOCK_TOLERANCE


def list_changes(snapshot: Snapshot, location: str, parts: Sequence[Part]) -> Iterator[RecentChange]:
    """List the changes of the packages, files and units of these parts on a host."""
    packages = tuple(name for part in parts for name in part.packages)
    for apt in find_fact(snapshot, PACKAGES, location) or ():
        if names := [name for name in apt.packages if name.startswith(packages)]:
            yield RecentChange(location, apt.seconds_ago, f"apt: {apt.action} {shorten_names(names)}")
    if (times := find_fact(snapshot, TIMES, location)) is None:
        return
    units = find_fact(snapshot, UNITS, location) or {}
    for part in dict.fromkeys(parts):
        unit = units.get(part.unit)
        started_at = unit.active_since if unit else None
        if started_at is not None and times.current_time - started_at < DAY:
            yield RecentChange(location, max(times.current_time - started_at, 0), f"{part.unit} started")
        for path, written_at in times.modified_files:
            if path.startswith(part.files) and not path.startswith(MANIFEST_PREFIX):
                delay = f", after {part.unit} had started" if started_at is not None and started_at < written_at else ""
                yield RecentChange(location, max(times.current_time - written_at, 0), f"{path} written{delay}")


def find_fact(snapshot: Snapshot, probe: Probe[Fact], location: str) -> Fact | None:
    """Return the fact of a probe at a location, or None where it is unknown."""
    try:
        return snapshot.require_fact(probe, location)
    except FactUnavailable:
        return None


def shorten_names(names: list[str], limit: int = 4) -> str:
    return format_value(names[:limit]) + (f" and {len(names) - limit} more" if len(names) > limit else "")
