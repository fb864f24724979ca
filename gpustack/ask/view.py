"""The snapshot seen from one host or from the cluster. It notes what was read: that is the evidence."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from gpustack.ask.probe import CLUSTER, UNREADABLE, FactUnavailable, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.config.host import Host
from gpustack.config.spec import Spec
from gpustack.config.versions import VersionSet, version_set

Fact = TypeVar("Fact")


class View:
    """Of a host (its name) or @cluster. `read` collects (probe, where) in the order of reading. `personal` says that
    more was looked at than facts of its own place and what is the same on every host: the spec, versions, the time."""

    __slots__ = ("_snapshot", "_where", "personal", "read")

    def __init__(self, snapshot: Snapshot, where: str, read: list[tuple[Probe[Any], str]] | None = None) -> None:
        self._snapshot, self._where = snapshot, where
        self.read: list[tuple[Probe[Any], str]] = [] if read is None else read
        self.personal = False

    def __getitem__(self, probe: Probe[Fact]) -> Fact:
        """Raises FactUnavailable. From the cluster, a host's probe means the acting control plane's."""
        where = self._where
        if where == CLUSTER and probe.where == "host":
            where = self.acting
        self.read.append((probe, where))
        return self._snapshot.fact(probe, where)

    @property
    def snapshot(self) -> Snapshot:
        self.personal = True
        return self._snapshot

    @property
    def where(self) -> str:
        self.personal = True
        return self._where

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

    def once(self, make: Callable[["View"], Fact]) -> Fact:
        """What a function makes of the facts of many hosts, the same seen from any, made once; what it read is evidence
        of each who asks. Raises what it raises."""

        def made() -> tuple[Fact | Exception, list[tuple[Probe[Any], str]]]:
            view = View(self._snapshot, self._where)
            try:
                return make(view), view.read
            except (FactUnavailable, *UNREADABLE) as error:
                return error.with_traceback(None), view.read

        found, read = self.snapshot.shared("once", made, make)
        self.read.extend(read)
        if isinstance(found, Exception):
            raise found.with_traceback(None)
        return found

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
        return self._snapshot.inventory.spec

    @property
    def versions(self) -> VersionSet:
        return version_set(self.spec.versions)

    @property
    def taken(self) -> datetime:
        return self._snapshot.taken
