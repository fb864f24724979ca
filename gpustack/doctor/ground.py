"""The graph over places: an id is judged on each host or once for the cluster, and an edge joins such places.

Sets of places go along an edge together, so that thousands of hosts cost no more steps than three.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from gpustack.ask.probe import CLUSTER
from gpustack.doctor.entry import Edge
from gpustack.doctor.finding import Judgements, Outcome, Place, spots
from gpustack.doctor.graph import Graph
from gpustack.doctor.tells import Blocks, guard_of

Reach = dict[str, set[str]]
"""Hosts (or @cluster) by id."""
Way = Literal["down", "up"]
HOLDS: frozenset[Outcome] = frozenset({"confirmed"})
MAY_HOLD: frozenset[Outcome] = frozenset({"confirmed", "unknown"})


@dataclass(frozen=True)
class Ground:
    """What has no check counts as unknown here; `judged` alone knows the difference."""

    graph: Graph
    hosts: tuple[str, ...]
    judged: Judgements
    pairs: Mapping[str, Blocks]

    def outcome(self, id: str, where: str) -> Outcome:
        found = self.judged.get((id, where))
        return found.outcome if found else "unknown"

    def having(self, outcome: Outcome) -> Reach:
        """The places of faults and states with this outcome."""
        found: Reach = {id: set() for id in self.graph.order}
        for id, where in spots(self.judged, outcome):
            if id in found:
                found[id].add(where)
        return found

    def rootable(self, place: Place) -> bool:
        """Whether it may be a root where it is confirmed: rule 2."""
        fault = self.graph.faults.get(place[0])
        if fault is None or fault.role in ("pointer", "info"):
            return False
        return fault.role == "fault" or self.outcome(guard_of(fault.id), place[1]) == "confirmed"

    def along(self, edge: Edge, wheres: Collection[str], conditions: frozenset[Outcome], way: Way = "down") -> set[str]:
        """The places at the other end of an edge, over which its condition has one of these outcomes. The condition is
        judged on the host at the edge's beginning, else at its end, else for the cluster."""
        first, last = (edge.cause, edge.effect) if way == "down" else (edge.effect, edge.cause)
        of_cause = self.graph[edge.cause].scope == "host"
        of_effect = not of_cause and self.graph[edge.effect].scope == "host"
        here = set(wheres)
        if edge.condition and (of_cause if way == "down" else of_effect):
            here = {where for where in here if self.outcome(edge.id, where) in conditions}
        if not here:
            return set()
        there = self.other_end(edge, here, self.graph[first].scope, self.graph[last].scope, way)
        if edge.condition and (of_effect if way == "down" else of_cause):
            return {where for where in there if self.outcome(edge.id, where) in conditions}
        if edge.condition and not of_cause and not of_effect and self.outcome(edge.id, CLUSTER) not in conditions:
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

    def below(
        self, sources: Mapping[str, Collection[str]], conditions: frozenset[Outcome], stops: Mapping[str, set[str]]
    ) -> Reach:
        """All places below the sources. `stops` are not gone through, though arrived at."""
        reach: Reach = {id: set() for id in self.graph.order}
        for id in self.graph.order:
            goes = set(sources.get(id, ())) | (reach[id] - stops.get(id, set()))
            for edge in self.graph.below[id] if goes else ():
                reach[edge.effect] |= self.along(edge, goes, conditions)
        return reach

    def above(self, sources: Mapping[str, Collection[str]], stops: Mapping[str, set[str]]) -> Reach:
        """All places above the sources, over edges that may hold and not through `stops`."""
        reach: Reach = {id: set() for id in self.graph.order}
        for id in reversed(self.graph.order):
            goes = set(sources.get(id, ())) | (reach[id] - stops.get(id, set()))
            for edge in self.graph.above[id] if goes else ():
                reach[edge.cause] |= self.along(edge, goes, MAY_HOLD, "up")
        return reach
