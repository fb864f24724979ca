"""The diagnosis of a snapshot: all checks are judged on recorded answers. A recording gives the same diagnosis."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any

from gpustack.ask.judge import Judgement, build_ok_result, judge
from gpustack.ask.probe import CLUSTER, Probe, collect_answers
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.command import Command
from gpustack.doctor.check import Check
from gpustack.doctor.checks import CHECKS, PAIRS
from gpustack.doctor.ended_units import limit_remedy
from gpustack.doctor.entry import Fault
from gpustack.doctor.error_selection import select_logged_errors
from gpustack.doctor.finding import Diagnosis, Drift, Judgements, Place, Verdict, filter_judgements
from gpustack.doctor.graph import Graph, load_graph
from gpustack.doctor.peers import group_peers
from gpustack.doctor.placed_graph import PlacedGraph
from gpustack.doctor.recent_changes import PROBES as CHANGE_PROBES
from gpustack.doctor.recent_changes import find_preceding_changes, find_recent_changes
from gpustack.doctor.second_round import add_last_lines
from gpustack.doctor.severity import find_own_severity, is_broken
from gpustack.doctor.starting import Start, find_starts, select_starts
from gpustack.doctor.states.observers import OBSERVERS, OPTIONAL_OBSERVERS
from gpustack.doctor.states.state import SEVERITIES, AbnormalState, Kind, Observer, merge_states, observe_all
from gpustack.doctor.verdict import build_verdict
from gpustack.rollout.plan import Plan, StepState, plan
from gpustack.steps import PROBES, STEPS

HOST_LAYERS = ("host", "gpu-host")
"""Layers whose faults a host without Kubernetes can have as well."""
LASTING_KINDS: tuple[Kind, ...] = (
    "access-refused",
    "kernel-limit",
    "node-uncovered",
    "pod-failed",
    "role-unbound",
    "unit-limit",
)
"""Kinds of states that do not pass while a host starts."""


def list_probes() -> tuple[Probe[Any], ...]:
    """List the probes that the steps, the doctor's checks and observers, and the search for changes read."""
    readers: tuple[Check | Observer, ...] = (*CHECKS, *OBSERVERS, *OPTIONAL_OBSERVERS)
    read_probes = (probe for reader in readers for probe in reader.probes)
    return tuple({probe.id: probe for probe in (*PROBES, *read_probes, *CHANGE_PROBES)}.values())


def diagnose(snapshot: Snapshot) -> Diagnosis:
    graph = load_graph()
    step_plan = plan(snapshot, STEPS)
    judgements = merge_judgements(judge_by_steps(graph, step_plan), judge_by_checks(graph, CHECKS, snapshot))
    hosts = tuple(host.name for host in snapshot.inventory.hosts)
    cluster = View(snapshot, CLUSTER)
    verdict = build_verdict(
        PlacedGraph(graph, hosts, judgements, {name: pair(cluster) for name, pair in PAIRS.items()})
    )
    starts = find_starts(snapshot)
    verdict = add_surroundings(verdict, snapshot, judgements, starts)
    drift = tuple(find_drift(step_plan, judgements, quiet=any(root.severity == "broken" for root in verdict.roots)))
    states, unknown_observations = observe_all((*OBSERVERS, *OPTIONAL_OBSERVERS), snapshot)
    optional_ids = {observer.id for observer in OPTIONAL_OBSERVERS}
    unknown_observations = tuple(
        observation for observation in unknown_observations if observation.id not in optional_ids
    )
    latent_states = tuple(build_latent_state(difference) for difference in drift if difference.result.latent)
    drift = tuple(difference for difference in drift if not difference.result.latent)
    states = tuple(select_new_states((*states, *latent_states), graph, judgements))
    states = tuple(drop_explained_states(states, verdict))
    states = merge_states(limit_severity(state, starts, snapshot) for state in states)
    states = tuple(
        add_last_lines(replace(state, changes=find_preceding_changes(state, snapshot)), snapshot) for state in states
    )
    diagnosis = Diagnosis(
        snapshot, verdict, drift, judgements, count_unchecked(graph, CHECKS), starts, states, unknown_observations
    )
    return select_logged_errors(diagnosis)


def add_surroundings(
    verdict: Verdict, snapshot: Snapshot, judgements: Judgements, starts: Collection[Start]
) -> Verdict:
    """Return the verdict with the recent changes and the healthy hosts of each root cause, and what is starting there.
    Where one of its hosts is starting, or its remedy starts a unit that ended by itself, a root cause is likely and not
    certain."""
    roots = []
    for finding in verdict.roots:
        root = limit_remedy(finding, snapshot)
        own_starts = select_starts(starts, root.locations, snapshot)
        certainty = "likely" if own_starts else root.certainty
        changes, peers = find_recent_changes(root, snapshot), group_peers(root, judgements)
        roots.append(replace(root, certainty=certainty, changes=changes, healthy_hosts=peers, starts=own_starts))
    symptoms = tuple(
        replace(symptom, starts=select_starts(starts, symptom.locations, snapshot))
        for symptom in verdict.unexplained_symptoms
    )
    return replace(verdict, roots=tuple(roots), unexplained_symptoms=symptoms)


def select_new_states(states: Iterable[AbnormalState], graph: Graph, judgements: Judgements) -> Iterator[AbnormalState]:
    """Select the states that say more than the confirmed faults. One that yields is left out where a fault that is as
    grave rests on the same answer."""
    ranks: dict[tuple[str, str], int] = {}
    for failure in filter_judgements(judgements, "failed"):
        if failure.id in graph.faults:
            rank = SEVERITIES.index(find_own_severity(graph, failure))
            for key in collect_answers(failure.evidence):
                ranks[key] = min(rank, ranks.get(key, rank))
    for state in states:
        known_ranks = [ranks[key] for key in select_own_answers(state) if key in ranks]
        if not state.yields or min(known_ranks, default=len(SEVERITIES)) > state.rank:
            yield state


def drop_explained_states(states: Iterable[AbnormalState], verdict: Verdict) -> Iterator[AbnormalState]:
    """Drop the states of which certain root causes explain the symptom, at each of their locations."""
    places = {judgement.place for root in verdict.roots if root.certainty == "certain" for judgement in root.impact}
    for state in states:
        if not state.symptom or not places.issuperset((state.symptom, location) for location in state.locations):
            yield state


def select_own_answers(state: AbnormalState) -> set[tuple[str, str]]:
    """Select the answers of the locations of a state. Where there are none, such as of a node that Prometheus names,
    all on which it rests are its own."""
    keys = collect_answers(state.evidence)
    return {(probe, location) for probe, location in keys if location in state.locations} or keys


def limit_severity(state: AbnormalState, starts: Collection[Start], snapshot: Snapshot) -> AbnormalState:
    """Return a broken state as a risk where one of its hosts is starting: it may work in a moment. What does not
    pass with a start stays broken."""
    if state.severity != "broken" or state.kind in LASTING_KINDS:
        return state
    hosts = [location for location in state.locations if location != CLUSTER]
    return replace(state, severity="risk") if select_starts(starts, hosts, snapshot) else state


def build_latent_state(drift: Drift) -> AbnormalState:
    """Build the risk of a difference from which nothing suffers yet, such as a certificate that ends soon."""
    result = drift.result
    command = result.hint or Command("gpustack", "explain", f"{drift.step}/{drift.check}")
    message = f"expected {result.expected}, actual {result.actual}"
    return AbnormalState(
        "latent-difference", "risk", drift.locations, (result.subject,), message, command, evidence=drift.evidence
    )


def merge_judgements(
    step_judgements: Iterable[Judgement], check_judgements: Iterable[Judgement]
) -> dict[Place, Judgement]:
    """Merge both kinds of judgements by place. The doctor's own check wins; the place keeps the position that the step
    gave it."""
    return {judgement.place: judgement for judgement in (*step_judgements, *check_judgements)}


def count_unchecked(graph: Graph, checks: Iterable[Check]) -> int:
    ids = {check.id for check in checks}
    return sum(id not in ids and not fault.checked_by for id, fault in graph.faults.items())


def judge_by_checks(graph: Graph, checks: Iterable[Check], snapshot: Snapshot) -> Iterator[Judgement]:
    for check in checks:
        for location in find_locations(graph, check.id, snapshot):
            yield judge(check.id, check, snapshot, location)


def find_locations(graph: Graph, id: str, snapshot: Snapshot) -> tuple[str, ...]:
    """Return where an id is judged: a guard with its fault, a condition on the host at one end of its edge."""
    subjects = graph.list_subjects(id)
    of_cluster = all(subject.scope == "cluster" for subject in subjects)
    hosts = snapshot.inventory.hosts
    if of_cluster:
        return (CLUSTER,) if snapshot.inventory.cluster_hosts else ()
    is_host_fault = all(subject.layer in HOST_LAYERS for subject in subjects)
    return tuple(host.name for host in hosts if is_host_fault or not host.standalone)


def judge_by_steps(graph: Graph, step_plan: Plan) -> Iterator[Judgement]:
    """Judge the faults that checks of steps detect. A Result that names a fault confirms it; a check that holds refutes
    the fault that it detects."""
    by_check: dict[str, list[Fault]] = {}
    for fault in graph.faults.values():
        by_check.setdefault(fault.checked_by, []).append(fault)
    for state in step_plan.states:
        for judgement in state.judgements:
            if judgement.result and judgement.result.fault in graph:
                yield derive_judgement(judgement.result.fault, state, judgement)
            for fault in by_check.get(f"{state.step}/{judgement.id}", ()):
                if not judgement.result or judgement.result.fault != fault.id:
                    yield derive_judgement(fault.id, state, judgement)


def derive_judgement(id: str, state: StepState, judgement: Judgement) -> Judgement:
    name = f"{state.step}/{judgement.id}"
    if judgement.outcome == "ok":
        return Judgement(id, state.location, "ok", build_ok_result(name, "passed"), "", judgement.evidence)
    if judgement.result and judgement.result.fault == id:
        return Judgement(id, state.location, "failed", judgement.result, "", judgement.evidence)
    reason = judgement.reason or f"{name} failed otherwise: {judgement.result}"
    return Judgement(id, state.location, "unknown", None, reason, judgement.evidence)


def find_drift(step_plan: Plan, judgements: Judgements, *, quiet: bool) -> Iterable[Drift]:
    """Find differences from the spec that confirm no fault. A step behind another drifted step is a consequence of it,
    and a check that rests on the same answers as something broken repeats that. What harms nothing yet hides only its
    own difference, because a second one in the same answer may be a fault. Guards and conditions of edges hold on a
    healthy cluster too, so they hide nothing. With a broken root (`quiet`), a difference that disappears by itself
    belongs to the root."""
    drifts: dict[tuple[str, str, str], Drift] = {}
    graph = load_graph()
    confirmed_answers = {
        key
        for failure in filter_judgements(judgements, "failed")
        if failure.id in graph and is_broken(graph, failure)
        for key in collect_answers(failure.evidence)
    }
    for state in step_plan.states:
        for judgement in state.judgements if not state.after else ():
            mismatch = judgement.result if judgement.outcome == "failed" else None
            if not mismatch or (quiet and mismatch.passing) or confirmed_answers & collect_answers(judgement.evidence):
                continue
            fault = judgements.get((mismatch.fault, state.location))
            if fault and fault.outcome == "failed":
                continue
            key = (state.step, judgement.id, str(mismatch))
            before = drifts.get(key, Drift(state.step, judgement.id, (), mismatch, judgement.evidence))
            drifts[key] = Drift(
                state.step, judgement.id, (*before.locations, state.location), mismatch, before.evidence
            )
    return drifts.values()
