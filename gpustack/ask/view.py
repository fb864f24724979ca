"""The snapshot seen from one host or from the cluster. It notes what was read: that is the evidence."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeVar

from gpustack.ask.probe import CLUSTER, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.config.host import Host
from gpustack.config.spec import Spec
from gpustack.config.versions import VersionSet, version_set

Fact = TypeVar("Fact")


@dataclass(frozen=True)
class View:
    """`where` is a host's name or @cluster. `read` collects (probe, where) in the order of reading."""

    snapshot: Snapshot
    where: str
    read: list[tuple[Probe[Any], str]] = field(default_factory=list)

    def __getitem__(self, probe: Probe[Fact]) -> Fact:
        """Raises FactUnavailable. From the cluster, a host's probe means the acting control plane's."""
        where = self.acting if self.where == CLUSTER and probe.where == "host" else self.where
        self.read.append((probe, where))
        return self.snapshot.fact(probe, where)

    @property
    def reached(self) -> bool:
        reach = self.snapshot.reach.get(self.where)
        return reach is not None and reach.reached

    def told(self, probe: Probe[Any]) -> bool:
        """Whether there is a fact to read. To be asked of other hosts: one that cannot tell is judged for that itself,
        and takes no other host with it."""
        try:
            self.snapshot.fact(probe, self.where)
        except FactUnavailable:
            return False
        return True

    @property
    def acting(self) -> str:
        """The first control plane that was reached, else the first."""
        planes = self.snapshot.inventory.control_planes
        reach = self.snapshot.reach
        up = [host.name for host in planes if host.name not in reach or reach[host.name].reached]
        return up[0] if up else planes[0].name

    def on(self, host: str) -> "View":
        """The same snapshot from another host; what is read there is evidence here too."""
        return View(self.snapshot, host, self.read)

    @property
    def hosts(self) -> Sequence[Host]:
        return self.snapshot.inventory.hosts

    @property
    def host(self) -> Host:
        return self.snapshot.inventory.by_name[self.acting if self.where == CLUSTER else self.where]

    @property
    def spec(self) -> Spec:
        return self.snapshot.inventory.spec

    @property
    def versions(self) -> VersionSet:
        return version_set(self.spec.versions)

    @property
    def taken(self) -> datetime:
        return self.snapshot.taken
