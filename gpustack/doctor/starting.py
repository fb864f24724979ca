"""Hosts that are starting. What fails there may work in a moment, so that nothing that is found is certain."""

from collections.abc import Collection
from dataclasses import dataclass

from gpustack.ask.probe import CLUSTER, FactUnavailable
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.probes.host.recent_changes import TIMES
from gpustack.probes.host.units import UNITS

USUAL_SECONDS = 90
"""Seconds after which the pods of a node work again that was switched off: measured on two lab hosts after a power cut
of both, from the start of the kubelet until all pods were ready."""
BOOT_SECONDS = 300
"""Seconds after the start of systemd in which a unit may end because what it needs is not there yet."""
SERVICES = ("containerd", "kubelet")


@dataclass(frozen=True)
class Start:
    """Describe a unit of a host that was started a moment ago, `seconds_ago` before the host was asked. It is 0 for a
    unit that is being started."""

    location: str
    service: str
    seconds_ago: int

    @property
    def remaining_seconds(self) -> int:
        return USUAL_SECONDS - self.seconds_ago

    @property
    def description(self) -> str:
        return f"{self.service} was started"

    def __str__(self) -> str:
        return f"{self.description} {self.seconds_ago} s ago"


def find_starts(snapshot: Snapshot) -> tuple[Start, ...]:
    """Find on each host the unit that was started last, where that is less than USUAL_SECONDS ago. A unit that systemd
    starts again because it ended fails, and is not starting, unless the host was booted a moment ago: then it may have
    ended because others were not there yet."""
    starts = (find_host_start(snapshot, host.name) for host in snapshot.inventory.cluster_hosts)
    return tuple(start for start in starts if start)


def find_host_start(snapshot: Snapshot, host: str) -> Start | None:
    try:
        units = snapshot.require_fact(UNITS, host)
    except FactUnavailable:
        return None
    named_units = {name: unit for name in SERVICES if (unit := units.get(name))}
    ages = {name: 0 if unit.moving else unit.age for name, unit in named_units.items() if unit.moving or unit.active}
    starts = [Start(host, name, age) for name, age in ages.items() if age is not None and 0 <= age < USUAL_SECONDS]
    if any(named_units[start.service].restarts for start in starts) and not is_booted_recently(snapshot, host):
        return None
    return min(starts, key=lambda start: start.seconds_ago, default=None)


def is_booted_recently(snapshot: Snapshot, host: str) -> bool:
    try:
        times = snapshot.require_fact(TIMES, host)
    except FactUnavailable:
        return False
    return times.booted_at is not None and 0 <= times.current_time - times.booted_at < BOOT_SECONDS


def select_starts(starts: Collection[Start], locations: Collection[str], snapshot: Snapshot) -> tuple[Start, ...]:
    """Select the starts that concern these locations. The cluster is starting with the host whose API server is
    asked."""
    acting_host = View(snapshot, CLUSTER).acting_host if CLUSTER in locations else ""
    return tuple(start for start in starts if start.location in {*locations, acting_host})
