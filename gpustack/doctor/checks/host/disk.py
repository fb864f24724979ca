"""Faults of the layer `host` about its disk, and the evictions that a full one brings."""

from datetime import timedelta

from gpustack.ask.judge import Result, as_text, ok
from gpustack.ask.view import View
from gpustack.doctor.check import check, names
from gpustack.doctor.checks.node_lookup import on_own_node
from gpustack.probes.host.disk import DISK
from gpustack.probes.host.system import IDENTITY
from gpustack.probes.kubernetes.nodes import NODES
from gpustack.probes.kubernetes.pods_waiting import EVICTED, PRESSURES, Evicted
from gpustack.steps.own_node import own

# Per cent that are free. The kubelet evicts below 10 (15 where images are; 5 of inodes); above, no question is left.
FULL, AMPLE = (5, 2), (15, 5)
RECENT = timedelta(minutes=15)


@check("host-disk-pressure", DISK, NODES, IDENTITY, PRESSURES)
def disk_pressure(here: View) -> Result:
    """By the free space, or by the condition of the node."""
    rooms, what = here[DISK].rooms, "free space and inodes"
    least = as_text([f"{path} {room.space} % and {room.inodes} %" for path, room in rooms.items()])
    if any(room.space < FULL[0] or room.inodes < FULL[1] for room in rooms.values()):
        tightest = min(rooms, key=lambda path: min(rooms[path].space, rooms[path].inodes))
        return Result(what, f"at least {FULL[0]} % and {FULL[1]} %", least, quote=tightest)
    if all(room.space >= AMPLE[0] and room.inodes >= AMPLE[1] for room in rooms.values()):
        return ok(what, least)
    node = own(here)
    pressed = node is not None and "DiskPressure" in here[PRESSURES][node.name]
    return Result("DiskPressure of the node", "no", f"{'yes' if pressed else 'no'} ({least})", ok=not pressed)


@check("host-root-readonly-or-io-errors", DISK)
def disk_fails(here: View) -> Result:
    """Paths that Kubernetes writes to and the devices below them. Another disk does not count."""
    found = here[DISK]
    wrong = [*(f"{path} is read-only" for path in found.readonly), *found.errors]
    if not wrong:
        return ok("disk of the node", "no errors")
    line = f"{found.readonly[0]} ro" if found.readonly else ""
    return Result(
        "disk of the node", "writable without errors", as_text(wrong), quote=line, names=names(MOUNT=found.readonly)
    )


def recent_evictions(here: View) -> list[Evicted]:
    """Evicted pods stay in the list for long after."""
    return [one for one in on_own_node(here, EVICTED) if here.taken - one.at < RECENT]


@check("st-evictions", EVICTED, NODES, IDENTITY)
def evictions(here: View) -> Result:
    """By the node in the last 15 minutes. A pod that exceeded its own limit does not count."""
    found = recent_evictions(here)
    names = as_text([f"{one.namespace}/{one.name}" for one in found[:5]])
    return Result("recent evictions", "none", f"{names}: {found[0].why}" if found else "none", ok=not found)


@check("st-evictions -> st-no-metrics", EVICTED, NODES, IDENTITY)
def prometheus_evicted(here: View) -> Result:
    space = here.spec.monitoring.namespace
    found = [
        one.name for one in recent_evictions(here) if one.namespace == space and one.name.startswith("prometheus-")
    ]
    return Result("Prometheus", "evicted", as_text(found) if found else "not evicted", ok=not found)


CHECKS = (disk_pressure, disk_fails, evictions, prometheus_evicted)
