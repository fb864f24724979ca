"""Judges everything on what was answered, and makes a diagnosis of it. Asks nothing: a recording gives the same."""

from collections.abc import Iterable, Iterator
from typing import Any

from gpustack.ask.judge import Judgement, judge, ok
from gpustack.ask.probe import CLUSTER, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import Evidence, View
from gpustack.doctor import recent_changes as changed
from gpustack.doctor.check import Check
from gpustack.doctor.checks import CHECKS, PAIRS
from gpustack.doctor.entry import Fault
from gpustack.doctor.finding import Diagnosis, Drift, Judgements, Place, with_outcome
from gpustack.doctor.graph import Graph, graph
from gpustack.doctor.placed_graph import PlacedGraph
from gpustack.doctor.verdict import verdict
from gpustack.rollout.plan import Plan, StepState, plan
from gpustack.steps import PROBES, STEPS

ANYWHERE = ("host", "gpu-host")
"""Layers whose faults a host without Kubernetes can have as well."""


def questions() -> tuple[Probe[Any], ...]:
    """All that the steps and the doctor's own checks read, and what tells of changes."""
    of_checks = (probe for check in CHECKS for probe in check.probes)
    return tuple({probe.id: probe for probe in (*PROBES, *of_checks, *changed.PROBES)}.values())


def diagnose(snapshot: Snapshot) -> Diagnosis:
    known = graph()
    compared = plan(snapshot, STEPS)
    judged = merged(by_steps(known, compared), by_checks(known, CHECKS, snapshot))
    hosts = tuple(host.name for host in snapshot.inventory.hosts)
    cluster = View(snapshot, CLUSTER)
    found = verdict(PlacedGraph(known, hosts, judged, {name: pair(cluster) for name, pair in PAIRS.items()}))
    drift = tuple(drifted(compared, judged, quiet=bool(found.roots)))
    return Diagnosis(snapshot, found, drift, judged, unchecked(known, CHECKS))


def merged(by_steps: Iterable[Judgement], by_checks: Iterable[Judgement]) -> dict[Place, Judgement]:
    """What both judge stands where the step has it, and is as the doctor's own check has it."""
    return {one.place: one for one in (*by_steps, *by_checks)}


def unchecked(known: Graph, checks: Iterable[Check]) -> int:
    ids = {check.id for check in checks}
    return sum(id not in ids and not fault.checked_by for id, fault in known.faults.items())


def by_checks(known: Graph, checks: Iterable[Check], snapshot: Snapshot) -> Iterator[Judgement]:
    for check in checks:
        for where in find_locations(known, check.id, snapshot):
            yield judge(check.id, check, snapshot, where)


def find_locations(known: Graph, id: str, snapshot: Snapshot) -> tuple[str, ...]:
    """Where an id is judged: a guard with its fault, a condition on the host at one end of its edge."""
    ends = [name.removesuffix(" guard") for name in id.split(" -> ")]
    of_cluster = all(known[name].scope == "cluster" for name in ends)
    hosts = snapshot.inventory.hosts
    if of_cluster:
        return (CLUSTER,) if snapshot.inventory.in_cluster else ()
    anywhere = all(known[name].layer in ANYWHERE for name in ends)
    return tuple(host.name for host in hosts if anywhere or not host.standalone)


def by_steps(known: Graph, compared: Plan) -> Iterator[Judgement]:
    """Faults that checks of steps detect: a Result that names a fault confirms it; a check that holds refutes the
    fault it detects."""
    by_check: dict[str, list[Fault]] = {}
    for fault in known.faults.values():
        by_check.setdefault(fault.checked_by, []).append(fault)
    for state in compared.states:
        for found in state.judgements:
            if found.result and found.result.fault in known:
                yield of_step(found.result.fault, state, found)
            for fault in by_check.get(f"{state.step}/{found.id}", ()):
                if not found.result or found.result.fault != fault.id:
                    yield of_step(fault.id, state, found)


def of_step(id: str, state: StepState, found: Judgement) -> Judgement:
    name = f"{state.step}/{found.id}"
    if found.outcome == "ok":
        return Judgement(id, state.where, "ok", ok(name, "passed"), "", found.evidence)
    if found.result and found.result.fault == id:
        return Judgement(id, state.where, "failed", found.result, "", found.evidence)
    why = found.why or f"{name} failed otherwise: {found.result}"
    return Judgement(id, state.where, "unknown", None, why, found.evidence)


def answers_of(evidence: Iterable[Evidence]) -> set[tuple[str, str]]:
    """What it rests on: ids of probes, and from where each was read."""
    return {(one.answer.probe, one.where) for one in evidence}


def drifted(compared: Plan, judged: Judgements, *, quiet: bool) -> Iterable[Drift]:
    """What differs from the spec and confirms no fault. What stands behind another drifted step is that one's
    consequence, and what rests on the same answers as a confirmed fault or state is that over again. Guards and
    conditions of edges hold on a healthy cluster too: they hide nothing. With a root (`quiet`) what comes right by
    itself is the root's."""
    found: dict[tuple[str, str, str], Drift] = {}
    known = graph()
    confirmed = {key for one in with_outcome(judged, "failed") if one.id in known for key in answers_of(one.evidence)}
    for state in compared.states:
        for one in state.judgements if not state.after else ():
            mismatch = one.result
            if not mismatch or (quiet and mismatch.passing) or confirmed & answers_of(one.evidence):
                continue
            key = (state.step, one.id, str(mismatch))
            before = found.get(key, Drift(state.step, one.id, (), mismatch, one.evidence))
            found[key] = Drift(state.step, one.id, (*before.locations, state.where), mismatch, before.evidence)
    return found.values()
