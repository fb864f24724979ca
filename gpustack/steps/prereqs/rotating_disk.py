"""A warning before a control plane is made: the disk that etcd will write to rotates.

It is no refusal: a small cluster runs on such a disk, and the kernel only repeats what a disk says of itself.
"""

from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.probes.control_plane.etcd import ETCD_FILE_SYSTEM, FileSystem
from gpustack.steps.other_cluster import is_member
from gpustack.steps.prereqs.host import is_remote_or_volatile

HARDWARE, UNKNOWN = "none", "unknown"
DIRECT_TRANSPORTS = ("ata", "sata", "sas", "spi")
"""Transports of disks that speak for themselves. A controller, a bridge of USB or a network may speak for a disk."""
CONSEQUENCE = "each write of etcd waits for its disk (gpustack explain etcd-slow-disk)"


def describe_rotating_disk(view: View) -> str:
    """Describe a disk for etcd that rotates, or why that is unknown. Return an empty text where no disk says so, where
    the file system is refused, and where step prereqs reports that nothing is known."""
    try:
        if not view.host.control_plane or is_member(view):
            return ""
        system = view[ETCD_FILE_SYSTEM]
    except FactUnavailable:
        return ""
    names = [disk.name for disk in system.disks if disk.rotational]
    if not system.machine or is_remote_or_volatile(system.kind) or (system.disks and not names):
        return ""
    if doubt := find_doubt(system):
        disk_report = f"{', '.join(names)} {'says' if len(names) == 1 else 'say'} so, " if names else ""
        return f"whether etcd will be on a disk that rotates is unknown: {disk_report}{doubt}; {CONSEQUENCE}"
    return f"etcd will be on a disk that rotates, {', '.join(names)}: {CONSEQUENCE}"


def find_doubt(system: FileSystem) -> str:
    """Find why it is unknown whether a disk rotates that says so; empty where its word counts."""
    if not system.disks:
        return f"no disk is known below the {system.kind} at /var/lib/etcd"
    if system.machine == UNKNOWN:
        return "and whether it is the disk of a virtual machine is unknown"
    if system.machine != HARDWARE:
        return f"and the word of a disk in a virtual machine ({system.machine}) does not count"
    if any(disk.rotational and disk.transport in DIRECT_TRANSPORTS for disk in system.disks):
        return ""
    return "and whether that is the disk's own word is unknown"
