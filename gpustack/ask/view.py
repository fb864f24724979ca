"""The snapshot seen from one host or from the cluster. It notes what was read: that is the evidence."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar, TypeVarTuple

from gpustack.ask.probe import CLUSTER, UNREADABLE, Answer, FactUnavailable, Probe
from gpustack.ask.script import command
from gpustack.ask.snapshot import Snapshot
from gpustack.config.host import Host
from gpustack.config.resolved import names
from gpustack.config.spec import Spec
from gpustack.config.versions import VersionSet, version_set

Fact = TypeVar("Fact")
Given = TypeVarTuple("Given")


@dataclass(frozen=True)
class Evidence:
    """A command and its answer; where the command is a script, `like` is what a person would type to see the same."""

    where: str
    command: str
    answer: Answer
    like: str = ""


class View:
    """Of a host (its name) or @cluster. `read` collects (probe, where) in the order of reading."""

    __slots__ = ("read", "snapshot", "where")

    def __init__(self, snapshot: Snapshot, where: str, read: list[tuple[Probe[Any], str]] | None = None) -> None:
        self.snapshot, self.where = snapshot, where
        self.read: list[tuple[Probe[Any], str]] = [] if read is None else read

    def __getitem__(self, probe: Probe[Fact]) -> Fact:
        """Raises FactUnavailable. From the cluster, a host's probe means the acting control plane's."""
        where = self.acting if self.where == CLUSTER and probe.location == "host" else self.where
        self.read.append((probe, where))
        return self.snapshot.fact(probe, where)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """What was read, each once, in the order of reading."""
        pairs = {(probe.id, where): probe for probe, where in self.read}
        variables = names(self.spec)
        return tuple(
            Evidence(where, command(probe, variables), self.snapshot.answer(probe, where), probe.like)
            for (_, where), probe in pairs.items()
        )

    @property
    def reached(self) -> bool:
        reach = self.snapshot.reach.get(self.where)
        return reach is not None and reach.reached

    def available(self, probe: Probe[Any]) -> bool:
        """Whether there is a fact to read. To be asked of other hosts: one whose answer cannot be read is judged for
        that itself, and takes no other host with it."""
        try:
            self.snapshot.fact(probe, self.where)
        except FactUnavailable:
            return False
        return True

    def once(self, make: Callable[["View", *Given], Fact], *given: *Given) -> Fact:
        """What a function of the cluster's view returns, made once for a snapshot: for what each host would otherwise
        make of the facts of all. What the function reads through that view is evidence of each caller. The function
        is its own key, so no lambda; arguments are compared by value where they are text or a truth value, else by
        identity. Raises what it raises."""
        key = (make, *(one if isinstance(one, (str, bool)) else id(one) for one in given))
        if key not in self.snapshot.memo:
            view = View(self.snapshot, CLUSTER)
            found: Fact | Exception
            try:
                found = make(view, *given)
            except (FactUnavailable, *UNREADABLE) as error:
                found = error.with_traceback(None)
            # What it was given is kept too: its identity would be another's after it.
            self.snapshot.memo[key] = (found, view.read, given)
        found, read, _ = self.snapshot.memo[key]
        self.read.extend((probe, self.where if where == CLUSTER else where) for probe, where in read)
        if isinstance(found, Exception):
            raise found.with_traceback(None)
        return found

    @property
    def acting(self) -> str:
        """The first control plane that was reached, else the first. Raises FactUnavailable where there is none."""
        planes = self.snapshot.inventory.control_planes
        if not planes:
            raise FactUnavailable("no host of the inventory is to have Kubernetes")
        reach = self.snapshot.reach
        up = [host.name for host in planes if host.name not in reach or reach[host.name].reached]
        return up[0] if up else planes[0].name

    def on(self, host: str) -> "View":
        """The same snapshot from another host; what is read there is evidence here too."""
        return View(self.snapshot, host, self.read)

    @property
    def hosts(self) -> Sequence[Host]:
        """Those of the cluster."""
        return self.snapshot.inventory.in_cluster

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
