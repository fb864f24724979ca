"""Judges everything on what was answered, and makes a diagnosis of it. Asks nothing: a recording gives the same."""

from collections.abc import Iterable, Iterator
from typing import Any

from gpustack.ask.judge import Judgement, reason, run
from gpustack.ask.probe import CLUSTER, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import Evidence, View
from gpustack.doctor import changed
from gpustack.doctor.entry import Fault
from gpustack.doctor.finding import Diagnosis, Drift, Judged, Judgements, Place, with_outcome
from gpustack.doctor.graph import Graph, graph
from gpustack.doctor.ground import Ground
from gpustack.doctor.tells import Registry, Tell, blocks, confirmed, refuted, registry
from gpustack.doctor.verdict import verdict
from gpustack.rollout.plan import Plan, StepState, plan
from gpustack.steps import PROBES, STEPS


def questions() -> tuple[Probe[Any], ...]:
    """All that the steps and the doctor's own checks read, and what tells of changes."""
    return tuple({probe.id: probe for probe in (*PROBES, *registry().probes, *changed.PROBES)}.values())


def diagnose(snapshot: Snapshot) -> Diagnosis:
    known, checks = graph(), registry()
    compared = plan(snapshot, STEPS)
    judged = merged(by_steps(known, compared), by_checks(known, checks, snapshot))
    hosts = tuple(host.name for host in snapshot.inventory.hosts)
    found = verdict(Ground(known, hosts, judged, blocks(checks, View(snapshot, CLUSTER))))
    drift = tuple(drifted(compared, judged, quiet=bool(found.roots)))
    return Diagnosis(snapshot, found, drift, judged, unchecked(known, checks))


def merged(by_steps: Iterable[Judged], by_checks: Iterable[Judged]) -> dict[Place, Judged]:
    """What both judge stands where the step has it, and is as the doctor's own check has it."""
    return {one.place: one for one in (*by_steps, *by_checks)}


def unchecked(known: Graph, asked: Registry) -> int:
    return sum(id not in asked.tellers and not fault.told_by for id, fault in known.faults.items())


def by_checks(known: Graph, checks: Registry, snapshot: Snapshot) -> Iterator[Judged]:
    """Each check runs alone; what it cannot read makes it unknown, and no other."""
    for id, check in checks.tellers.items():
        for where in locations(known, id, snapshot):
            yield judge_id(id, check.tell, snapshot, where)


def judge_id(id: str, check: Tell, snapshot: Snapshot, where: str) -> Judged:
    found, evidence = run(check, snapshot, where)
    if isinstance(found, Exception):
        return Judged(id, where, "unknown", None, reason(found), evidence)
    return Judged(id, where, "confirmed" if found.confirmed else "refuted", found, "", evidence)


def locations(known: Graph, id: str, snapshot: Snapshot) -> tuple[str, ...]:
    """Where an id is judged: a guard with its fault, a condition on the host at one end of its edge."""
    ends = [name.removesuffix(" guard") for name in id.split(" -> ")]
    of_cluster = all(known[name].scope == "cluster" for name in ends)
    return (CLUSTER,) if of_cluster else tuple(snapshot.inventory.by_name)


def by_steps(known: Graph, compared: Plan) -> Iterator[Judged]:
    """Faults that checks of steps tell: a Mismatch that names a fault confirms it, a check that holds refutes the one
    that is told by it."""
    by_check: dict[str, list[Fault]] = {}
    for fault in known.faults.values():
        by_check.setdefault(fault.told_by, []).append(fault)
    for state in compared.states:
        for found in state.judgements:
            if found.mismatch and found.mismatch.fault in known:
                yield of_step(found.mismatch.fault, state, found)
            for fault in by_check.get(f"{state.step}/{found.check}", ()):
                if not found.mismatch or found.mismatch.fault != fault.id:
                    yield of_step(fault.id, state, found)


def of_step(id: str, state: StepState, found: Judgement) -> Judged:
    name = f"{state.step}/{found.check}"
    if found.outcome == "holds":
        return Judged(id, state.where, "refuted", refuted(name, "holds"), "", found.evidence)
    if (mismatch := found.mismatch) and mismatch.fault == id:
        told = confirmed(mismatch.what, mismatch.expected, mismatch.found)
        return Judged(id, state.where, "confirmed", told, "", found.evidence)
    why = found.why or f"{name} found something else first: {found.mismatch}"
    return Judged(id, state.where, "unknown", None, why, found.evidence)


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
    told = {key for one in with_outcome(judged, "confirmed") if one.id in known for key in answers_of(one.evidence)}
    for state in compared.states:
        for one in state.judgements if not state.after else ():
            mismatch = one.mismatch
            if not mismatch or (quiet and mismatch.passing) or told & answers_of(one.evidence):
                continue
            key = (state.step, one.check, str(mismatch))
            before = found.get(key, Drift(state.step, one.check, (), mismatch, one.evidence))
            found[key] = Drift(state.step, one.check, (*before.wheres, state.where), mismatch, before.evidence)
    return found.values()
