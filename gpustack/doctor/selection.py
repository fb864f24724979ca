"""The part of a diagnosis that concerns some hosts or some faults. Everything is judged before, for a root cause may be
elsewhere."""

from collections.abc import Collection
from dataclasses import replace

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.finding import Diagnosis, Finding, Selection, UnexplainedSymptom, Verdict
from gpustack.doctor.graph import load_graph

UNJUDGED_REASON = "none of the selected hosts is checked for it"


def list_names() -> tuple[str, ...]:
    """List what can be selected by name: the faults and states of the catalogue."""
    graph = load_graph()
    return (*graph.faults, *graph.states)


def select_findings(diagnosis: Diagnosis, selection: Selection) -> Diagnosis:
    """Select what concerns the hosts and names of a selection: findings there, and those that explain something there.
    A name that was judged on none of the hosts is unknown. What has no name in the catalogue is left out where names
    are selected."""
    hosts, names = list_locations(diagnosis.snapshot, selection.hosts), selection.names

    def is_chosen(locations: Collection[str]) -> bool:
        return not hosts.isdisjoint(locations)

    def matches(judgement: Judgement) -> bool:
        return judgement.location in hosts and (not names or judgement.id in names)

    def covers(finding: Finding | UnexplainedSymptom) -> bool:
        return any(map(matches, (*finding.judgements, *finding.impact)))

    judgements = {place: judgement for place, judgement in diagnosis.judgements.items() if matches(judgement)}
    unjudged_names = set(names) - {judgement.id for judgement in judgements.values()}
    unknown_judgements = [
        Judgement(name, min(hosts), "unknown", None, UNJUDGED_REASON) for name in names if name in unjudged_names
    ]
    return replace(
        diagnosis,
        selection=selection,
        verdict=Verdict(
            tuple(filter(covers, diagnosis.roots)),
            tuple(filter(covers, diagnosis.unexplained_symptoms)),
            tuple(filter(matches, diagnosis.verdict.notes)),
        ),
        drift=tuple(drift for drift in diagnosis.drift if not names and is_chosen(drift.locations)),
        judgements={**judgements, **{judgement.place: judgement for judgement in unknown_judgements}},
        starts=tuple(start for start in diagnosis.starts if start.location in hosts),
        abnormal_states=tuple(state for state in diagnosis.abnormal_states if not names and is_chosen(state.locations)),
        unknown_observations=tuple(filter(matches, diagnosis.unknown_observations)),
    )


def list_locations(snapshot: Snapshot, hosts: Collection[str]) -> set[str]:
    """List the locations of these hosts, or of all. As in a plan, the cluster belongs to its control planes."""
    chosen_hosts = [host for host in snapshot.inventory.hosts if not hosts or host.name in hosts]
    cluster = [CLUSTER] if any(host.control_plane for host in chosen_hosts) else []
    return {*cluster, *(host.name for host in chosen_hosts)}
