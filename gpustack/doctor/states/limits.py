"""File systems in memory that are full, units that use all tasks or open files that they may, and limits of the kernel.

A container needs some of each when it starts: its sandbox lies in /run, and its shim is a task of containerd's unit.
"""

from collections.abc import Iterator

from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.checks.host.disk import FULL_LIMITS
from gpustack.doctor.states.state import AbnormalState, Observer, Severity
from gpustack.probes.host.limits import HOST_LIMITS, KernelLimit, LimitedUnit

LEAST_LEFT = 12
"""The tasks or files that one more container may need: a shim starts about ten threads."""
RISK_SHARE = 0.9
"""The share of a limit from which on it is a risk."""


KERNEL_LIMITS = {
    "kernel.threads-max": ("threads", 'no program starts another: "Resource temporarily unavailable"'),
    "kernel.pid_max": ("threads", 'no program starts another: "Resource temporarily unavailable"'),
    "fs.file-max": ("open files", 'none is opened: "Too many open files in system"'),
    "fs.aio-max-nr": ("asynchronous requests", 'io_setup fails: "Resource temporarily unavailable"'),
    "kernel.keys.root_maxkeys": (
        "keys", 'runc starts no container: "unable to create session key: disk quota exceeded"'
    ),
    "memory-cgroups": ("memory cgroups", 'no container starts: "mkdir: no space left on device"'),
    "net.netfilter.nf_conntrack_max": (
        "tracked connections", 'packets of new connections are lost: "nf_conntrack: table full, dropping packet"'
    ),
    "net.ipv4.neigh.default.gc_thresh3": (
        "neighbors", 'packets to others are lost: "neighbour: arp_cache: neighbor table overflow!"'
    ),
    "net.ipv4.ip_local_port_range": (
        "local ports", 'no further connection is made: "Cannot assign requested address"'
    ),
    "net.ipv4.tcp_mem": ("pages of memory for TCP", '"TCP: out of memory -- consider tuning tcp_mem"'),
}  # fmt: skip
"""The limits of the kernel: what they count, and the words that programs or the kernel say at each (errno(3),
net/netfilter/nf_conntrack_core.c, net/core/neighbour.c, net/ipv4/tcp.c, opencontainers/runc libcontainer/keys)."""


def observe_rooms(view: View) -> Iterator[AbnormalState]:
    for path, room in view[HOST_LIMITS].rooms.items():
        if room.space < FULL_LIMITS[0] or room.inodes < FULL_LIMITS[1]:
            severity: Severity = "risk" if room.space and room.inodes else "broken"
            message = f"{room.space} % of the space and {room.inodes} % of the inodes are free"
            command = Command("df", path)
            yield AbnormalState(
                "disk-unusable", severity, (view.location,), (f"file system of {path}",), message, command
            )


def observe_usages(view: View) -> Iterator[AbnormalState]:
    for unit in view[HOST_LIMITS].units:
        if severity := judge_usage(unit):
            noun = "tasks" if unit.limit == "TasksMax" else "open files"
            message = f"it uses {unit.usage} of {unit.maximum} {noun} ({unit.limit}); at the limit no container starts"
            command = Command("systemctl", "show", f"{unit.name}.service", "-p", f"{unit.limit},DropInPaths")
            subject = f"unit {unit.name}.service"
            yield AbnormalState("unit-limit", severity, (view.location,), (subject,), message, command)


def observe_kernels(view: View) -> Iterator[AbnormalState]:
    """List the limits of the kernel that are nearly reached. One that no table describes is named alone."""
    for limit in view[HOST_LIMITS].kernel:
        if severity := judge_usage(limit):
            noun, words = KERNEL_LIMITS.get(limit.name, ("things", ""))
            end = f"; at the limit {words}" if words else ""
            command = Command("sysctl", limit.name) if "." in limit.name else Command("cat", "/proc/cgroups")
            message = f"the host has {limit.usage} of {limit.maximum} {noun}{end}"
            subject = f"kernel limit {limit.name}"
            yield AbnormalState("kernel-limit", severity, (view.location,), (subject,), message, command)


def judge_usage(unit: LimitedUnit | KernelLimit) -> Severity | None:
    """Judge what a unit or a host uses of a limit; None where enough is left."""
    if unit.maximum - unit.usage < LEAST_LEFT:
        return "broken"
    return "risk" if unit.usage >= RISK_SHARE * unit.maximum else None


OBSERVERS = (
    Observer("rooms-in-memory", "File systems in memory", observe_rooms, (HOST_LIMITS,), scope="host"),
    Observer("limits-of-units", "Limits of units", observe_usages, (HOST_LIMITS,), scope="host"),
    Observer("limits-of-kernels", "Limits of the kernel", observe_kernels, (HOST_LIMITS,), scope="host"),
)
