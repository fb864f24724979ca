"""The rule: which of what is confirmed is a root, and what is only its consequence. A walk over the graph, no list.

1. Every id at every place is confirmed, refuted or unknown.
2. A root is a confirmed fault (or conditional whose guard is confirmed) without a confirmed ancestor.
3. An ancestor suppresses a state or pointer at once, and another fault only where every conditional edge between has
   its condition confirmed and nothing between is refuted; the fault is then probably caused by it. An edge whose
   condition is refuted is none.
4. What is confirmed and below a root is folded, where nothing between is refuted.
5. Independent roots stand side by side; those of a correlated group are one finding.
6. Something confirmed that may not be a root, without a confirmed fault above, is unexplained.
7. An unknown ancestor lowers the certainty and is named. An id without a check is not one: it was never asked.
8. What is unknown neither sets nor clears.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gpustack.ask.judge import Judgement, Outcome
from gpustack.doctor.finding import Finding, Place, Unexplained, Verdict, with_outcome
from gpustack.doctor.impact_tree import chain
from gpustack.doctor.placed_graph import HOLDS, MAY_HOLD, PlacedGraph, Reach

UNMANAGED = "st-host-unmanaged"
"""What hides the rest of a host."""


@dataclass(frozen=True)
class Sorted:
    """What is confirmed, by what the rule makes of it. `able`: may be a root. `symptoms`: all else but `info`."""

    roots: Reach
    able: Reach
    symptoms: Reach
    info: Reach


def verdict(placed: PlacedGraph) -> Verdict:
    found = sort_confirmed(placed)
    # In the order of the catalogue, from host to monitoring; what only hides a host comes last.
    findings = [finding(placed, found, id, found.roots[id]) for id in placed.graph.faults if found.roots[id]]
    findings.sort(key=lambda one: one.hidden_checks > 0)
    explained = placed.below(unite(found.able, found.info), MAY_HOLD)
    bare = {id: locations - explained[id] for id, locations in found.symptoms.items()}
    under = placed.below(bare, MAY_HOLD)
    open_ones = {id: locations - under[id] for id, locations in bare.items()}
    notes = {id: locations - under[id] for id, locations in found.info.items()}
    return Verdict(
        tuple(grouped(placed, findings)),
        tuple(unexplained(placed, found, id, locations) for id, locations in open_ones.items() if locations),
        judged(placed, notes),
    )


def sort_confirmed(placed: PlacedGraph) -> Sorted:
    confirmed = {id: placed.places(id, "failed") for id in placed.graph.order}
    able = {
        id: {where for where in locations if placed.can_be_root((id, where))} for id, locations in confirmed.items()
    }
    info = {id: set(locations) if role(placed, id) == "info" else set() for id, locations in confirmed.items()}
    symptoms = {id: set(locations) - able[id] - info[id] for id, locations in confirmed.items()}
    suppressed = placed.below(unite(able, symptoms), HOLDS)
    roots = {id: locations - suppressed[id] for id, locations in able.items()}
    return Sorted(roots, able, symptoms, info)


def role(placed: PlacedGraph, id: str) -> str:
    fault = placed.graph.faults.get(id)
    return fault.role if fault else "state"


def unite(one: Reach, other: Reach) -> Reach:
    return {id: one.get(id, set()) | other.get(id, set()) for id in {**one, **other}}


def finding(placed: PlacedGraph, found: Sorted, id: str, locations: Collection[str]) -> Finding:
    symptoms, faults = find_folded(placed, found, {id: set(locations)})
    ancestors = placed.above({id: locations})
    uncertain = select_by_outcome(placed, "unknown", ancestors)
    return Finding(
        id,
        judged(placed, {id: set(locations)}),
        "likely" if uncertain else "certain",
        impact=judged(placed, unite(symptoms, faults)),
        caused=judged(placed, faults),
        ruled_out=ruled_out(placed, {id: set(locations)}, symptoms),
        uncertain=uncertain,
        chain=chain(placed, {id: set(locations)}, unite(symptoms, faults)),
        hidden_checks=hidden(placed, id, locations),
    )


def find_folded(placed: PlacedGraph, found: Sorted, sources: Reach) -> tuple[Reach, Reach]:
    """Symptoms and notes below the sources, and the faults that are suppressed by these or by the sources."""
    reach = placed.below(sources, MAY_HOLD)
    below = {id: (found.symptoms[id] | found.info[id]) & reach[id] for id in reach}
    tied = placed.below(unite(sources, {id: found.symptoms[id] & reach[id] for id in reach}), HOLDS)
    return below, {id: (found.able[id] - found.roots[id]) & tied[id] for id in reach}


def judged(placed: PlacedGraph, reach: Mapping[str, Collection[str]]) -> tuple[Judgement, ...]:
    """From causes to effects, hosts in the order of the inventory."""
    return tuple(
        placed.judged[id, where]
        for id in placed.graph.order
        for where in in_order(placed, reach.get(id, ()))
        if (id, where) in placed.judged
    )


def in_order(placed: PlacedGraph, locations: Collection[str]) -> list[str]:
    # Of most ids none: of those the hosts are not gone through.
    return [where for where in (*placed.hosts, "@cluster") if where in locations] if locations else []


def select_by_outcome(placed: PlacedGraph, outcome: Outcome, reach: Reach) -> tuple[Judgement, ...]:
    """Those of the places with this outcome."""
    return judged(placed, {id: locations & placed.places(id, outcome) for id, locations in reach.items() if locations})


def ruled_out(placed: PlacedGraph, sources: Reach, symptoms: Reach) -> tuple[Judgement, ...]:
    """Other causes of the same symptoms (or, without any, of the same effects there) that were refuted, and found
    nowhere."""
    own = {id for id, locations in sources.items() if locations}
    effects = {id: locations for id, locations in symptoms.items() if locations}
    if not effects:
        for id, locations in sources.items():
            for edge in placed.graph.below[id]:
                effects.setdefault(edge.effect, set()).update(placed.cross_edge(edge, locations, MAY_HOLD))
    causes: Reach = {}
    for id, locations in effects.items():
        for edge in placed.graph.above[id]:
            causes.setdefault(edge.cause, set()).update(placed.cross_edge(edge, locations, MAY_HOLD, "up"))
    others = {id: locations for id, locations in causes.items() if id not in own and not placed.places(id, "failed")}
    if not any(symptoms.values()):
        source_locations = {"@cluster"}.union(*sources.values())
        others = {id: locations & source_locations for id, locations in others.items()}
    return select_by_outcome(placed, "ok", others)


def hidden(placed: PlacedGraph, id: str, locations: Collection[str]) -> int:
    if not any(edge.effect == UNMANAGED for edge in placed.graph.below[id]):
        return 0
    return sum(one.where in locations and one.id in placed.graph for one in with_outcome(placed.judged, "unknown"))


def grouped(placed: PlacedGraph, findings: list[Finding]) -> list[Finding]:
    """Roots of one act that share a place become one finding, that of the first in the group's order."""
    left = {one.id: one for one in findings}
    for group in placed.graph.groups:
        members = [left[id] for id in group.faults if id in left]
        for other in members[1:]:
            first = left[members[0].id]
            if overlap(first.locations, other.locations):
                left[first.id] = merged(first, left.pop(other.id), group.common)
    return list(left.values())


def overlap(one: Collection[str], other: Collection[str]) -> bool:
    return "@cluster" in {*one, *other} or not set(one).isdisjoint(other)


def merged(one: Finding, other: Finding, correlation: str) -> Finding:
    def both(name: str) -> tuple[Judgement, ...]:
        pair: tuple[Judgement, ...] = (*getattr(one, name), *getattr(other, name))
        return tuple({found.place: found for found in pair}.values())

    return Finding(
        one.id,
        one.judged,
        "likely" if one.uncertain or other.uncertain else "certain",
        both("impact"),
        both("caused"),
        both("ruled_out"),
        both("uncertain"),
        (*one.correlated, *other.judged, *other.correlated),
        correlation,
        one.chain,
        one.hidden_checks + other.hidden_checks,
    )


def unexplained(placed: PlacedGraph, found: Sorted, id: str, locations: Collection[str]) -> Unexplained:
    symptoms, faults = find_folded(placed, found, {id: set(locations)})
    suspects = select_by_outcome(placed, "unknown", placed.above({id: locations}))
    below = {
        name: places - set(locations) if name == id else places for name, places in unite(symptoms, faults).items()
    }
    return Unexplained(
        id,
        judged(placed, {id: set(locations)}),
        suspects,
        ruled_out(placed, {}, {id: set(locations)}),
        judged(placed, below),
        next_question(placed, id, [one.place for one in suspects]),
    )


def next_question(placed: PlacedGraph, id: str, suspects: list[Place]) -> str:
    """The command that decides: of the nearest unknown fault, else of what is unexplained."""
    near = [edge.cause for edge in placed.graph.above[id]]
    names = [name for name, _ in suspects]
    for name in sorted(names, key=lambda name: near.index(name) if name in near else len(near)):
        if fault := placed.graph.faults.get(name):
            return fault.evidence[0].run
    entry = placed.graph.faults.get(id)
    return entry.evidence[0].run if entry else placed.graph.states[id].ask
