"""The graph over places: an id is judged on each host or once for the cluster, and an edge joins such places.

Sets of places go along an edge together, so that thousands of hosts cost no more steps than three.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from gpustack.ask.judge import Outcome
from gpustack.ask.probe import CLUSTER
from gpustack.doctor.check import Blocks, guard_of
from gpustack.doctor.entry import Edge
from gpustack.doctor.finding import Judgements, Place
from gpustack.doctor.graph import Graph

Reach = dict[str, set[str]]
"""Hosts (or @cluster) by id."""
Way = Literal["down", "up"]
HOLDS: frozenset[Outcome] = frozenset({"failed"})
MAY_HOLD: frozenset[Outcome] = frozenset({"failed", "unknown"})


@dataclass(frozen=True)
class PlacedGraph:
    """What has no check counts as unknown here; `judged` alone knows the difference."""

    graph: Graph
    hosts: tuple[str, ...]
    judged: Judgements
    pairs: Mapping[str, Blocks]

    @cached_property
    def by_outcome(self) -> Mapping[tuple[str, Outcome], set[str]]:
        found: dict[tuple[str, Outcome], set[str]] = {}
        for (id, where), one in self.judged.items():
            found.setdefault((id, one.outcome), set()).add(where)
        return found

    def places(self, id: str, outcome: Outcome) -> set[str]:
        """Where it came out like this."""
        return self.by_outcome.get((id, outcome), set())

    def filter_by_outcome(self, locations: Collection[str], id: str, outcomes: frozenset[Outcome]) -> set[str]:
        """Those of the places where it has one of these outcomes, HOLDS or MAY_HOLD."""
        if outcomes == HOLDS:
            return set(locations) & self.places(id, "failed")
        return set(locations) - self.places(id, "ok")

    def can_be_root(self, place: Place) -> bool:
        """Whether it may be a root where it is confirmed: rule 2."""
        fault = self.graph.faults.get(place[0])
        if fault is None or fault.role in ("pointer", "info"):
            return False
        return fault.role == "fault" or place[1] in self.places(guard_of(fault.id), "failed")

    def cross_edge(
        self, edge: Edge, locations: Collection[str], conditions: frozenset[Outcome], way: Way = "down"
    ) -> set[str]:
        """The places at the other end of an edge, over which its condition has one of these outcomes. The condition is
        judged on the host at the edge's beginning, else at its end, else for the cluster."""
        first, last = (edge.cause, edge.effect) if way == "down" else (edge.effect, edge.cause)
        of_cause = self.graph[edge.cause].scope == "host"
        of_effect = not of_cause and self.graph[edge.effect].scope == "host"
        here = set(locations)
        if edge.condition and (of_cause if way == "down" else of_effect):
            here = self.filter_by_outcome(here, edge.id, conditions)
        if not here:
            return set()
        there = self.other_end(edge, here, self.graph[first].scope, self.graph[last].scope, way)
        if edge.condition and (of_effect if way == "down" else of_cause):
            return self.filter_by_outcome(there, edge.id, conditions)
        if (
            edge.condition
            and not of_cause
            and not of_effect
            and not self.filter_by_outcome({CLUSTER}, edge.id, conditions)
        ):
            return set()
        return there

    def other_end(self, edge: Edge, here: set[str], first: str, last: str, way: Way) -> set[str]:
        """Of an edge at a cluster's node all hosts; between hosts the same one, or those that its pairs join."""
        if last == "cluster":
            return {CLUSTER}
        if first == "cluster":
            return set(self.hosts)
        if not edge.pairs:
            return here
        found: set[str] = set()
        for causes, effects in self.pairs.get(edge.pairs, ()):
            begins, ends = (causes, effects) if way == "down" else (effects, causes)
            if not here.isdisjoint(begins):
                found |= set(ends)
        return found

    def below(self, sources: Mapping[str, Collection[str]], conditions: frozenset[Outcome]) -> Reach:
        """All places below the sources. What is refuted is arrived at, and not gone through: it passes nothing on."""
        reach: Reach = {id: set() for id in self.graph.order}
        for id in self.graph.order:
            goes = self.find_passable(id, reach[id], sources)
            for edge in self.graph.below[id] if goes else ():
                reach[edge.effect] |= self.cross_edge(edge, goes, conditions)
        return reach

    def above(self, sources: Mapping[str, Collection[str]]) -> Reach:
        """All places above the sources, over edges that may hold and not through what is refuted."""
        reach: Reach = {id: set() for id in self.graph.order}
        for id in reversed(self.graph.order):
            goes = self.find_passable(id, reach[id], sources)
            for edge in self.graph.above[id] if goes else ():
                reach[edge.cause] |= self.cross_edge(edge, goes, MAY_HOLD, "up")
        return reach

    def find_passable(self, id: str, reached: set[str], sources: Mapping[str, Collection[str]]) -> set[str]:
        through = reached - self.places(id, "ok") if reached else reached
        return through | set(sources.get(id, ()))
