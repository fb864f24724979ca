"""Views: a snapshot as one host or the cluster sees it. A view notes what was read; that is the evidence."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar, TypeVarTuple

from gpustack.ask.probe import CLUSTER, UNREADABLE, Evidence, FactUnavailable, Probe
from gpustack.ask.script import format_command
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.variables import build_name_variables
from gpustack.config.host import Host
from gpustack.config.spec import Spec
from gpustack.config.versions import VersionSet, read_version_set

Fact = TypeVar("Fact")
Arguments = TypeVarTuple("Arguments")


class View:
    """Give access to a snapshot from a location: the name of a host, or @cluster. `reads` collects (probe, location) in
    the order of reading."""

    __slots__ = ("location", "reads", "snapshot")

    def __init__(self, snapshot: Snapshot, location: str, reads: list[tuple[Probe[Any], str]] | None = None) -> None:
        self.snapshot, self.location = snapshot, location
        self.reads: list[tuple[Probe[Any], str]] = [] if reads is None else reads

    def __getitem__(self, probe: Probe[Fact]) -> Fact:
        """Return the fact of a probe at this location. From the cluster, a probe of hosts is read on the acting control
        plane.

        Raise FactUnavailable where the fact is unknown.
        """
        location = self.acting_host if self.location == CLUSTER and probe.scope == "host" else self.location
        self.reads.append((probe, location))
        return self.snapshot.require_fact(probe, location)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """The answers that were read, each once, in the order of reading."""
        pairs = {(probe.id, location): probe for probe, location in self.reads}
        variables = build_name_variables(self.spec)
        return tuple(
            Evidence(
                answer_location,
                format_command(probe, variables),
                self.snapshot.find_answer(probe, answer_location),
                probe.manual_command,
            )
            for (_, answer_location), probe in pairs.items()
        )

    @property
    def reached(self) -> bool:
        reach = self.snapshot.reach.get(self.location)
        return reach is not None and reach.reached

    def has_fact(self, probe: Probe[Any]) -> bool:
        """Tell whether a fact is known.

        A check asks this of other hosts: a host whose answer cannot be read is judged for that itself, and must not
        make the checks of other hosts unknown.
        """
        try:
            self.snapshot.require_fact(probe, self.location)
        except FactUnavailable:
            return False
        return True

    def compute_once(self, function: Callable[["View", *Arguments], Fact], *arguments: *Arguments) -> Fact:
        """Return what a function of the cluster's view returns, computed once for a snapshot.

        It is for results that each host would otherwise compute from the facts of all. The reads of the function are
        evidence of each caller. The function is its own key and must be no lambda; arguments are compared by value
        where they are text or a truth value, else by identity. An exception of the function is raised to each caller.
        """
        key = (function, *(argument if isinstance(argument, (str, bool)) else id(argument) for argument in arguments))
        if key not in self.snapshot.memo:
            view = View(self.snapshot, CLUSTER)
            outcome: Fact | Exception
            try:
                outcome = function(view, *arguments)
            except (FactUnavailable, *UNREADABLE) as error:
                outcome = error.with_traceback(None)
            # What it was given is kept too: its identity would be another's after it.
            self.snapshot.memo[key] = (outcome, view.reads, arguments)
        outcome, view_reads, _ = self.snapshot.memo[key]
        self.reads.extend((probe, self.location if location == CLUSTER else location) for probe, location in view_reads)
        if isinstance(outcome, Exception):
            raise outcome.with_traceback(None)
        return outcome

    @property
    def acting_host(self) -> str:
        """The first control plane that was reached, or else the first one. Raise FactUnavailable where there is
        none."""
        planes = self.snapshot.inventory.control_planes
        if not planes:
            raise FactUnavailable("no host of the inventory is to have Kubernetes")
        reach = self.snapshot.reach
        reached_hosts = [host.name for host in planes if host.name not in reach or reach[host.name].reached]
        return reached_hosts[0] if reached_hosts else planes[0].name

    def select_host(self, host: str) -> "View":
        """Return a view of the same snapshot from another host. Its reads are evidence of this view too."""
        return View(self.snapshot, host, self.reads)

    @property
    def hosts(self) -> Sequence[Host]:
        """The hosts of the cluster."""
        return self.snapshot.inventory.cluster_hosts

    @property
    def host(self) -> Host:
        return self.snapshot.inventory.by_name[self.acting_host if self.location == CLUSTER else self.location]

    @property
    def spec(self) -> Spec:
        return self.snapshot.inventory.spec

    @property
    def versions(self) -> VersionSet:
        return read_version_set(self.spec.versions)

    @property
    def started_at(self) -> datetime:
        return self.snapshot.started_at
