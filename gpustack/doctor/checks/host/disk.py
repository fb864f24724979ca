"""Faults of the layer `host` in its disk, and the evictions that a full disk causes."""

from datetime import timedelta

from gpustack.ask.judge import Result, build_ok_result, format_value
from gpustack.ask.view import View
from gpustack.doctor.check import build_names, check, expect_none
from gpustack.doctor.checks.node_lookup import list_own_node_entries
from gpustack.probes.host.disk import DISK
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubelet.start import START
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.scheduling import EVICTED_PODS, PRESSURES, EvictedPod
from gpustack.steps.own_node import find_node

# Free space and inodes in per cent. The kubelet evicts below 10 (15 where images are; 5 of inodes).
FULL_LIMITS, AMPLE_LIMITS = (5, 2), (15, 5)
RECENT_TIME = timedelta(minutes=15)
DISK_ERRORS = ("read-only file system", "input/output error")


@check("host-disk-pressure", DISK, NODES, IDENTITY, PRESSURES)
def disk_pressure(view: View) -> Result:
    """Judge the free space, or the condition of the node where that leaves the question open."""
    rooms, subject = view[DISK].rooms, "free space and inodes"
    free_shares = format_value([f"{path} has {room.space} % and {room.inodes} % free" for path, room in rooms.items()])
    if any(room.space < FULL_LIMITS[0] or room.inodes < FULL_LIMITS[1] for room in rooms.values()):
        fullest_path = min(rooms, key=lambda path: min(rooms[path].space, rooms[path].inodes))
        return Result(subject, f"at least {FULL_LIMITS[0]} % and {FULL_LIMITS[1]} %", free_shares, quote=fullest_path)
    if all(room.space >= AMPLE_LIMITS[0] and room.inodes >= AMPLE_LIMITS[1] for room in rooms.values()):
        return build_ok_result(subject, free_shares)
    node = find_node(view)
    has_pressure = node is not None and "DiskPressure" in view[PRESSURES][node.name]
    return Result(
        "DiskPressure of the node", "no", f"{'yes' if has_pressure else 'no'} ({free_shares})", ok=not has_pressure
    )


@check("host-root-readonly-or-io-errors", DISK)
def disk_fails(view: View) -> Result:
    """Check the paths to which Kubernetes writes and the devices below them. Another disk does not count. After errors
    of a disk that is still written to, nothing suffers yet."""
    disk = view[DISK]
    failures = [*(f"{path} is read-only" for path in disk.readonly), *disk.errors]
    if not failures:
        return build_ok_result("disk of the node", "no errors")
    line = f"{disk.readonly[0]} ro" if disk.readonly else ""
    return Result(
        "disk of the node",
        "writable without errors",
        format_value(failures),
        quote=line,
        names=build_names(MOUNT=disk.readonly),
        latent=not disk.readonly,
    )


def list_recent_evictions(view: View) -> list[EvictedPod]:
    """List pods of the node that were evicted recently. Evicted pods stay in the API long after."""
    return [pod for pod in list_own_node_entries(view, EVICTED_PODS) if view.started_at - pod.evicted_at < RECENT_TIME]


@check("st-evictions", EVICTED_PODS, NODES, IDENTITY)
def evictions(view: View) -> Result:
    """Look for pods that the node evicted in the last 15 minutes. A pod that exceeded its own limit does not count."""
    evicted_pods = list_recent_evictions(view)
    names = format_value([f"{pod.namespace}/{pod.name}" for pod in evicted_pods[:5]])
    return Result(
        "recent evictions",
        "none",
        f"{names}: {evicted_pods[0].reason}" if evicted_pods else "none",
        ok=not evicted_pods,
    )


@check("st-evictions -> st-no-metrics", EVICTED_PODS, NODES, IDENTITY)
def prometheus_evicted(view: View) -> Result:
    space = view.spec.monitoring.namespace
    evicted_pods = [
        pod.name for pod in list_recent_evictions(view) if pod.namespace == space and pod.name.startswith("prometheus-")
    ]
    return expect_none("Prometheus", "evicted", evicted_pods, "not evicted")


@check("host-root-readonly-or-io-errors -> st-runtime-down", DISK)
def runtime_cannot_write(view: View) -> Result:
    return expect_none("read-only paths of containerd", "none", view[DISK].readonly, "none")


@check("host-root-readonly-or-io-errors -> st-kubelet-down", DISK, START)
def kubelet_cannot_write(view: View) -> Result:
    """Judge the paths of the kubelet, and its last error by the words of errno(3) in Go's package syscall."""
    start = view[START]
    message = start.message if start else ""
    about_disk = [message] if any(words in message for words in DISK_ERRORS) else []
    return expect_none(
        "disk of the kubelet", "failing", [*view[DISK].readonly, *about_disk], "writable, without an error"
    )
