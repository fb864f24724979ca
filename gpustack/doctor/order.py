"""All that is to be judged, in an order in which two who begin at both ends hardly read the same: first what reads most
of the hosts themselves, last what reads the longest lists of the cluster."""

from collections.abc import Iterator, Sequence
from typing import Any

from gpustack.ask.ahead import Job
from gpustack.ask.probe import CLUSTER, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.graph import Graph
from gpustack.doctor.tells import Registry
from gpustack.rollout.plan import places
from gpustack.steps import STEPS

SOME = 50
"""Hosts by whose answers it is told how much all of them say."""

Entry = tuple[tuple[Probe[Any], ...], Job]
"""What a job reads, and the job."""


def jobs(known: Graph, asked: Registry, snapshot: Snapshot) -> Sequence[Job]:
    entries = [*of_steps(snapshot), *of_tellers(known, asked, snapshot)]
    asked_for = {probe.id: probe for probes, _ in entries for probe in probes}
    long = {id: length(probe, snapshot) for id, probe in asked_for.items()}

    def weight(entry: Entry) -> int:
        lengths = [long[probe.id] for probe in entry[0]]
        return max(lengths, default=0) + min(lengths, default=0)

    return [job for _, job in sorted(entries, key=weight)]


def length(probe: Probe[Any], snapshot: Snapshot) -> int:
    """About how many characters there are to be read: positive of a list of the cluster, negative of what hosts answer,
    of which alike answers count once."""
    if probe.where == "cluster":
        return len(snapshot.answer(probe, CLUSTER).out)
    some = [snapshot.answer(probe, host.name).out for host in snapshot.inventory.hosts[:SOME]]
    return -sum(map(len, set(some))) * len(snapshot.inventory.hosts) // len(some)


def of_steps(snapshot: Snapshot) -> Iterator[Entry]:
    for step in STEPS:
        spots = tuple(places(step, snapshot.inventory))
        yield from ((step.probes, (check, spots)) for check in step.checks)


def of_tellers(known: Graph, asked: Registry, snapshot: Snapshot) -> Iterator[Entry]:
    for one in asked.tellers.values():
        yield one.probes, (one.tell, wheres(known, one.id, snapshot))


def wheres(known: Graph, id: str, snapshot: Snapshot) -> tuple[str, ...]:
    """Where an id is judged: a guard with its fault, a condition on the host at one end of its edge."""
    return (CLUSTER,) if of_cluster(known, id) else tuple(snapshot.inventory.by_name)


def of_cluster(known: Graph, id: str) -> bool:
    ends = [name.removesuffix(" guard") for name in id.split(" -> ")]
    return all(known[name].scope == "cluster" for name in ends)
