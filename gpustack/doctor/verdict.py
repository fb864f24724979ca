"""The rule that finds the roots among the confirmed entries, and their consequences. It walks the graph and names no
id.

1. Every id at every place is confirmed, refuted or unknown.
2. A root is a confirmed fault (or conditional whose guard is confirmed) without a confirmed ancestor.
3. An ancestor suppresses a state or pointer at once, and another fault only where every conditional edge between has
   its condition confirmed and nothing between is refuted; the fault is then probably caused by it. An edge whose
   condition is refuted does not count.
4. What is confirmed and below a root is folded, where nothing between is refuted.
5. Independent roots stand side by side; those of a correlated group are one finding.
6. A confirmed entry that may not be a root, without a confirmed fault above, is unexplained.
7. An unknown ancestor lowers the certainty and is named. So does evidence that fits other causes as well. An id
   without a check does not count, as it was never asked. A fault from which nothing suffers by itself is a likely cause
   of what does not work: hosts have it for years. It is certain where the condition of an edge shows it.
8. What is unknown neither sets nor clears.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gpustack.ask.judge import Judgement, Outcome
from gpustack.doctor.finding import Finding, Place, UnexplainedSymptom, Verdict, filter_judgements
from gpustack.doctor.impact_tree import build_chain
from gpustack.doctor.placed_graph import HOLDS, MAY_HOLD, PlacedGraph, Reach
from gpustack.doctor.severity import is_broken_by_effects, judge_severity, select_worst
from gpustack.doctor.states.state import SEVERITIES

UNMANAGED_HOST = "st-host-unmanaged"
"""The state that hides all other checks of a host."""


@dataclass(frozen=True)
class Classification:
    """Hold the confirmed places, sorted by the rule. `candidates` may be roots; `symptoms` are all others but
    `info`."""

    roots: Reach
    candidates: Reach
    symptoms: Reach
    info: Reach


def build_verdict(placed_graph: PlacedGraph) -> Verdict:
    classification = classify_confirmed(placed_graph)
    # The order is that of the catalogue, from host to monitoring. A finding that hides a host comes last.
    findings = [
        build_finding(placed_graph, classification, id, classification.roots[id])
        for id in placed_graph.graph.faults
        if classification.roots[id]
    ]
    findings.sort(key=lambda finding: finding.hidden_checks > 0)
    explained_locations = placed_graph.find_descendants(
        merge_reaches(classification.candidates, classification.info), MAY_HOLD
    )
    uncovered_symptoms = {id: locations - explained_locations[id] for id, locations in classification.symptoms.items()}
    descendants = placed_graph.find_descendants(uncovered_symptoms, MAY_HOLD)
    unexplained_symptoms = {id: locations - descendants[id] for id, locations in uncovered_symptoms.items()}
    notes = {id: locations - descendants[id] for id, locations in classification.info.items()}
    return Verdict(
        tuple(sorted(group_findings(placed_graph, findings), key=lambda root: SEVERITIES.index(root.severity))),
        tuple(
            build_unexplained_symptom(placed_graph, classification, id, locations)
            for id, locations in unexplained_symptoms.items()
            if locations
        ),
        list_judgements(placed_graph, notes),
    )


def classify_confirmed(placed_graph: PlacedGraph) -> Classification:
    confirmed_locations = {id: placed_graph.select_locations(id, "failed") for id in placed_graph.graph.order}
    candidates = {
        id: {location for location in locations if placed_graph.can_be_root((id, location))}
        for id, locations in confirmed_locations.items()
    }
    info = {
        id: set(locations) if determine_role(placed_graph, id) == "info" else set()
        for id, locations in confirmed_locations.items()
    }
    symptoms = {id: set(locations) - candidates[id] - info[id] for id, locations in confirmed_locations.items()}
    suppressed_locations = placed_graph.find_descendants(merge_reaches(candidates, symptoms), HOLDS)
    roots = {id: locations - suppressed_locations[id] for id, locations in candidates.items()}
    return Classification(roots, candidates, symptoms, info)


def determine_role(placed_graph: PlacedGraph, id: str) -> str:
    fault = placed_graph.graph.faults.get(id)
    return fault.role if fault else "state"


def merge_reaches(first: Reach, second: Reach) -> Reach:
    return {id: first.get(id, set()) | second.get(id, set()) for id in {**first, **second}}


def build_finding(
    placed_graph: PlacedGraph, classification: Classification, id: str, locations: Collection[str]
) -> Finding:
    symptoms, faults = find_impact(placed_graph, classification, {id: set(locations)})
    ancestors = placed_graph.find_ancestors({id: locations})
    uncertain_causes = select_by_outcome(placed_graph, "unknown", ancestors)
    judgements = list_judgements(placed_graph, {id: set(locations)})
    impact = list_judgements(placed_graph, merge_reaches(symptoms, faults))
    severity = judge_severity(placed_graph.graph, judgements, impact)
    is_proven = all(judgement.result and judgement.result.certain for judgement in judgements) and (
        not is_broken_by_effects(placed_graph.graph, judgements, severity) or has_evidence(placed_graph, id, impact)
    )
    return Finding(
        id,
        judgements,
        "certain" if is_proven and not uncertain_causes else "likely",
        impact=impact,
        caused_faults=list_judgements(placed_graph, faults),
        ruled_out=find_ruled_out_causes(placed_graph, {id: set(locations)}, symptoms),
        uncertain=uncertain_causes,
        chain=build_chain(placed_graph, {id: set(locations)}, merge_reaches(symptoms, faults)),
        hidden_checks=count_hidden_checks(placed_graph, id, locations),
        severity=severity,
    )


def has_evidence(placed_graph: PlacedGraph, id: str, impact: Collection[Judgement]) -> bool:
    """Tell whether evidence shows that a fault has one of these effects: the condition of an edge between them is
    confirmed somewhere."""
    effects = {judgement.id for judgement in impact}
    edges = (edge for edge in placed_graph.graph.outgoing_edges[id] if edge.condition and edge.effect in effects)
    return any(placed_graph.select_locations(edge.id, "failed") for edge in edges)


def find_impact(placed_graph: PlacedGraph, classification: Classification, sources: Reach) -> tuple[Reach, Reach]:
    """Find the symptoms and notes below the sources, and the faults that these or the sources suppress."""
    reach = placed_graph.find_descendants(sources, MAY_HOLD)
    symptoms = {id: (classification.symptoms[id] | classification.info[id]) & reach[id] for id in reach}
    suppressed_locations = placed_graph.find_descendants(
        merge_reaches(sources, {id: classification.symptoms[id] & reach[id] for id in reach}), HOLDS
    )
    return symptoms, {
        id: (classification.candidates[id] - classification.roots[id]) & suppressed_locations[id] for id in reach
    }


def list_judgements(placed_graph: PlacedGraph, reach: Mapping[str, Collection[str]]) -> tuple[Judgement, ...]:
    """List the judgements at these places, from causes to effects, with hosts in the order of the inventory."""
    return tuple(
        placed_graph.judgements[id, location]
        for id in placed_graph.graph.order
        for location in order_locations(placed_graph, reach.get(id, ()))
        if (id, location) in placed_graph.judgements
    )


def order_locations(placed_graph: PlacedGraph, locations: Collection[str]) -> list[str]:
    # Most ids have no location, and then the list of hosts is not searched.
    return [location for location in (*placed_graph.hosts, "@cluster") if location in locations] if locations else []


def select_by_outcome(placed_graph: PlacedGraph, outcome: Outcome, reach: Reach) -> tuple[Judgement, ...]:
    """List the judgements at these places that have this outcome."""
    return list_judgements(
        placed_graph,
        {id: locations & placed_graph.select_locations(id, outcome) for id, locations in reach.items() if locations},
    )


def find_ruled_out_causes(placed_graph: PlacedGraph, sources: Reach, symptoms: Reach) -> tuple[Judgement, ...]:
    """Find other causes that were refuted and are confirmed nowhere: of the same symptoms or, without any, of the same
    effects on the same hosts."""
    own_ids = {id for id, locations in sources.items() if locations}
    effects = {id: locations for id, locations in symptoms.items() if locations}
    if not effects:
        for id, locations in sources.items():
            for edge in placed_graph.graph.outgoing_edges[id]:
                effects.setdefault(edge.effect, set()).update(placed_graph.cross_edge(edge, locations, MAY_HOLD))
    causes: Reach = {}
    for id, locations in effects.items():
        for edge in placed_graph.graph.incoming_edges[id]:
            causes.setdefault(edge.cause, set()).update(placed_graph.cross_edge(edge, locations, MAY_HOLD, "up"))
    other_causes = {
        id: locations
        for id, locations in causes.items()
        if id not in own_ids and not placed_graph.select_locations(id, "failed")
    }
    if not any(symptoms.values()):
        source_locations = {"@cluster"}.union(*sources.values())
        other_causes = {id: locations & source_locations for id, locations in other_causes.items()}
    return select_by_outcome(placed_graph, "ok", other_causes)


def count_hidden_checks(placed_graph: PlacedGraph, id: str, locations: Collection[str]) -> int:
    if not any(edge.effect == UNMANAGED_HOST for edge in placed_graph.graph.outgoing_edges[id]):
        return 0
    return sum(
        judgement.location in locations and judgement.id in placed_graph.graph
        for judgement in filter_judgements(placed_graph.judgements, "unknown")
    )


def group_findings(placed_graph: PlacedGraph, findings: list[Finding]) -> list[Finding]:
    """Merge roots of one act that share a location into one finding, that of the first in the group's order."""
    remaining_findings = {finding.id: finding for finding in findings}
    for group in placed_graph.graph.groups:
        members = [remaining_findings[id] for id in group.faults if id in remaining_findings]
        for member in members[1:]:
            first_finding = remaining_findings[members[0].id]
            if has_overlap(first_finding.locations, member.locations):
                remaining_findings[first_finding.id] = merge_findings(
                    first_finding, remaining_findings.pop(member.id), group.common
                )
    return list(remaining_findings.values())


def has_overlap(first: Collection[str], second: Collection[str]) -> bool:
    return "@cluster" in {*first, *second} or not set(first).isdisjoint(second)


def merge_findings(first: Finding, second: Finding, correlation: str) -> Finding:
    def combine_field(name: str) -> tuple[Judgement, ...]:
        pair: tuple[Judgement, ...] = (*getattr(first, name), *getattr(second, name))
        return tuple({judgement.place: judgement for judgement in pair}.values())

    return Finding(
        first.id,
        first.judgements,
        "likely" if "likely" in (first.certainty, second.certainty) else "certain",
        combine_field("impact"),
        combine_field("caused_faults"),
        combine_field("ruled_out"),
        combine_field("uncertain"),
        (*first.correlated_causes, *second.judgements, *second.correlated_causes),
        correlation,
        first.chain,
        first.hidden_checks + second.hidden_checks,
        severity=select_worst((first.severity, second.severity)),
    )


def build_unexplained_symptom(
    placed_graph: PlacedGraph, classification: Classification, id: str, locations: Collection[str]
) -> UnexplainedSymptom:
    symptoms, faults = find_impact(placed_graph, classification, {id: set(locations)})
    suspects = select_by_outcome(placed_graph, "unknown", placed_graph.find_ancestors({id: locations}))
    impact = {
        name: places - set(locations) if name == id else places
        for name, places in merge_reaches(symptoms, faults).items()
    }
    return UnexplainedSymptom(
        id,
        list_judgements(placed_graph, {id: set(locations)}),
        suspects,
        find_ruled_out_causes(placed_graph, {}, {id: set(locations)}),
        list_judgements(placed_graph, impact),
        choose_next_check(placed_graph, id, [suspect.place for suspect in suspects]),
    )


def choose_next_check(placed_graph: PlacedGraph, id: str, suspects: list[Place]) -> str:
    """Choose the command that decides: that of the nearest unknown fault, else that of the unexplained entry."""
    nearest_causes = [edge.cause for edge in placed_graph.graph.incoming_edges[id]]
    names = [name for name, _ in suspects]
    for name in sorted(
        names, key=lambda name: nearest_causes.index(name) if name in nearest_causes else len(nearest_causes)
    ):
        if fault := placed_graph.graph.faults.get(name):
            return fault.evidence[0].run
    entry = placed_graph.graph.faults.get(id)
    return entry.evidence[0].run if entry else placed_graph.graph.states[id].ask
