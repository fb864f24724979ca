"""Faults of the layer `etcd`, by its member on the acting control plane."""

from gpustack.ask.judge import Result, ok
from gpustack.ask.probe import FactUnavailable
from gpustack.ask.view import View
from gpustack.doctor.check import check
from gpustack.doctor.checks.host.disk import FULL
from gpustack.probes.control_plane.etcd import HEALTH, SLOW
from gpustack.probes.host.disk import DISK
from gpustack.probes.host.system import NOW
from gpustack.probes.kubernetes.pods_waiting import RENEWED

# In five minutes. A busy disk has one now and then; one that is too slow has them all the time.
MANY = 10
# Seconds: the control plane's programs renew their leases every two to ten.
STALE = 60


@check("etcd-nospace", HEALTH)
def no_space(here: View) -> Result:
    """By the alarm of etcd."""
    found = here[HEALTH]
    if found is None:
        return ok("alarms of etcd", "no etcd on this host")
    return Result("alarms of etcd", "none", found.why or "none", ok="NOSPACE" not in found.why)


@check("etcd-slow-disk", SLOW)
def slow_disk(here: View) -> Result:
    """Many writes took longer than a second."""
    times = here[SLOW].times
    return Result("writes slower than 1 s in 5 min", f"fewer than {MANY}", str(times), ok=times < MANY)


@check("etcd-slow-disk guard", SLOW, DISK)
def slow_for_no_other_reason(here: View) -> Result:
    """No image is being pulled, memory is available, and the disk is not full."""
    found, rooms = here[SLOW], here[DISK].rooms
    full = [path for path, room in rooms.items() if room.space < FULL[0]]
    why = (
        f"{found.pulls} image pulls"
        if found.pulls
        else f"{found.memory} % of memory available"
        if found.memory < 5
        else ""
    )
    why = why or ("full disk" if full else "")
    return Result("other reasons for slow writes", "none", why or "none", ok=bool(why))


@check("st-apiserver-readonly", RENEWED, NOW)
def read_only(here: View) -> Result:
    """The control plane renews its leases every few seconds: the API responds, but no lease is recent."""
    latest = here[RENEWED]
    if latest is None:
        raise FactUnavailable("the control plane has no leases")
    age = here[NOW] - latest.timestamp()
    return Result(
        "last lease renewal of the control plane", f"at most {STALE} s ago", f"{age:.0f} s ago", ok=age <= STALE
    )


CHECKS = (no_space, slow_disk, slow_for_no_other_reason, read_only)
