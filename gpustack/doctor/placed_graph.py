"""The graph over places: an id is judged on each host or once for the cluster, and an edge joins such places.

Sets of places go along an edge together, so that thousands of hosts cost no more steps than three.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from gpustack.ask.judge import Outcome
from gpustack.ask.probe import CLUSTER
from gpustack.doctor.check import Blocks, build_guard_id
from gpustack.doctor.entry import Edge
from gpustack.doctor.finding import Judgements, Place
from gpustack.doctor.graph import Graph

Reach = dict[str, set[str]]
"""Locations (hosts or @cluster) by id."""
Direction = Literal["down", "up"]
HOLDS: frozenset[Outcome] = frozenset({"failed"})
MAY_HOLD: frozenset[Outcome] = frozenset({"failed", "unknown"})


@dataclass(frozen=True)
class PlacedGraph:
    """Hold the graph with the judgements at all places. An id without a check counts as unknown; only `judgements`
    tells the two apart."""

    graph: Graph
    hosts: tuple[str, ...]
    judgements: Judgements
    pairs: Mapping[str, Blocks]

    @cached_property
    def locations_by_outcome(self) -> Mapping[tuple[str, Outcome], set[str]]:
        locations: dict[tuple[str, Outcome], set[str]] = {}
        for (id, location), judgement in self.judgements.items():
            locations.setdefault((id, judgement.outcome), set()).add(location)
        return locations

    def select_locations(self, id: str, outcome: Outcome) -> set[str]:
        """Select the locations where an id has this outcome."""
        return self.locations_by_outcome.get((id, outcome), set())

    def filter_by_outcome(self, locations: Collection[str], id: str, outcomes: frozenset[Outcome]) -> set[str]:
        """Select the given locations where an id has one of these outcomes, HOLDS or MAY_HOLD."""
        if outcomes == HOLDS:
            return set(locations) & self.select_locations(id, "failed")
        return set(locations) - self.select_locations(id, "ok")

    def can_be_root(self, place: Place) -> bool:
        """Tell whether a confirmed id may be a root at this place (rule 2)."""
        fault = self.graph.faults.get(place[0])
        if fault is None or fault.role in ("pointer", "info"):
            return False
        return fault.role == "fault" or place[1] in self.select_locations(build_guard_id(fault.id), "failed")

    def cross_edge(
        self, edge: Edge, locations: Collection[str], conditions: frozenset[Outcome], direction: Direction = "down"
    ) -> set[str]:
        """Return the locations at the other end of an edge whose condition has one of these outcomes. The condition is
        judged on the host at the edge's beginning, else at its end, else for the cluster."""
        first, last = (edge.cause, edge.effect) if direction == "down" else (edge.effect, edge.cause)
        of_cause = self.graph[edge.cause].scope == "host"
        of_effect = not of_cause and self.graph[edge.effect].scope == "host"
        near_locations = set(locations)
        if edge.condition and (of_cause if direction == "down" else of_effect):
            near_locations = self.filter_by_outcome(near_locations, edge.id, conditions)
        if not near_locations:
            return set()
        far_locations = self.find_far_end(
            edge, near_locations, self.graph[first].scope, self.graph[last].scope, direction
        )
        if edge.condition and (of_effect if direction == "down" else of_cause):
            return self.filter_by_outcome(far_locations, edge.id, conditions)
        if (
            edge.condition
            and not of_cause
            and not of_effect
            and not self.filter_by_outcome({CLUSTER}, edge.id, conditions)
        ):
            return set()
        return far_locations

    def find_far_end(
        self, edge: Edge, near_locations: set[str], near_scope: str, far_scope: str, direction: Direction
    ) -> set[str]:
        """Return the locations at the other end of an edge: all hosts for an edge of the cluster; between hosts the
        same host, or those that the edge's pairs join."""
        if far_scope == "cluster":
            return {CLUSTER}
        if near_scope == "cluster":
            return set(self.hosts)
        if not edge.pairs:
            return near_locations
        far_locations: set[str] = set()
        for causes, effects in self.pairs.get(edge.pairs, ()):
            begins, ends = (causes, effects) if direction == "down" else (effects, causes)
            if not near_locations.isdisjoint(begins):
                far_locations |= set(ends)
        return far_locations

    def find_descendants(self, sources: Mapping[str, Collection[str]], conditions: frozenset[Outcome]) -> Reach:
        """Find all places below the sources. A refuted place is reached, but the search does not go on from there."""
        reach: Reach = {id: set() for id in self.graph.order}
        for id in self.graph.order:
            passable = self.find_passable(id, reach[id], sources)
            for edge in self.graph.outgoing_edges[id] if passable else ():
                reach[edge.effect] |= self.cross_edge(edge, passable, conditions)
        return reach

    def find_ancestors(self, sources: Mapping[str, Collection[str]]) -> Reach:
        """Find all places above the sources, over edges that may hold and not through refuted places."""
        reach: Reach = {id: set() for id in self.graph.order}
        for id in reversed(self.graph.order):
            passable = self.find_passable(id, reach[id], sources)
            for edge in self.graph.incoming_edges[id] if passable else ():
                reach[edge.cause] |= self.cross_edge(edge, passable, MAY_HOLD, "up")
        return reach

    def find_passable(self, id: str, locations: set[str], sources: Mapping[str, Collection[str]]) -> set[str]:
        passable = locations - self.select_locations(id, "ok") if locations else locations
        return passable | set(sources.get(id, ()))
