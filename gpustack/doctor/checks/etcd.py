"""Faults of the layer `etcd`, by its member on the acting control plane."""

from gpustack.ask.judge import Result, build_ok_result
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.host.disk import FULL_LIMITS
from gpustack.probes.control_plane.etcd import HEALTH, SLOW_REQUESTS
from gpustack.probes.host.disk import DISK
from gpustack.probes.host.system import HOST_TIME
from gpustack.probes.kubernetes.scheduling import LEASE_RENEWAL

# Slow writes in five minutes. A busy disk has a few; one that is too slow has them all the time.
SLOW_WRITE_LIMIT = 10
# Seconds: the control plane's programs renew their leases every two to ten.
STALE_AGE = 60


@check("etcd-nospace", HEALTH)
def no_space(view: View) -> Result:
    """Look for the alarm NOSPACE of etcd."""
    health = view[HEALTH]
    if health is None:
        return build_ok_result("alarms of etcd", "no etcd on this host")
    return Result("alarms of etcd", "none", health.reason or "none", ok="NOSPACE" not in health.reason)


@check("etcd-slow-disk", SLOW_REQUESTS)
def slow_disk(view: View) -> Result:
    """Count the writes that took longer than a second."""
    times = view[SLOW_REQUESTS].times
    return Result(
        "writes slower than 1 s in 5 min", f"fewer than {SLOW_WRITE_LIMIT}", str(times), ok=times < SLOW_WRITE_LIMIT
    )


@check("etcd-slow-disk guard", SLOW_REQUESTS, DISK)
def slow_for_no_other_reason(view: View) -> Result:
    """Check that no image is being pulled, memory is available, and the disk is not full."""
    slow_writes, rooms = view[SLOW_REQUESTS], view[DISK].rooms
    full_paths = [path for path, room in rooms.items() if room.space < FULL_LIMITS[0]]
    reason = (
        f"{slow_writes.pulls} image pulls"
        if slow_writes.pulls
        else f"{slow_writes.memory} % of memory available"
        if slow_writes.memory < 5
        else ""
    )
    reason = reason or ("full disk" if full_paths else "")
    return Result("other reasons for slow writes", "none", reason or "none", ok=bool(reason))


@check("st-apiserver-readonly", LEASE_RENEWAL, HOST_TIME)
def read_only(view: View) -> Result:
    """Check that the control plane renewed its leases, which it does every few seconds. The API may respond although it
    writes nothing."""
    latest_renewal = view[LEASE_RENEWAL]
    if latest_renewal is None:
        raise FactUnavailable("the control plane has no leases")
    age = view[HOST_TIME] - latest_renewal.timestamp()
    return Result(
        "last lease renewal of the control plane", f"at most {STALE_AGE} s ago", f"{age:.0f} s ago", ok=age <= STALE_AGE
    )
