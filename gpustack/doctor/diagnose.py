"""Judges everything on what was answered, and makes a diagnosis of it. Asks nothing: a recording gives the same."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from gpustack.ask.ahead import ahead
from gpustack.ask.alike import Evidence, Heard, Seen, everywhere
from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER, Probe
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.doctor import changed
from gpustack.doctor.entry import Fault
from gpustack.doctor.finding import Diagnosis, Drift, Judged, Judgements, having
from gpustack.doctor.graph import Graph, graph
from gpustack.doctor.ground import Ground
from gpustack.doctor.lots import Lots
from gpustack.doctor.order import jobs, wheres
from gpustack.doctor.tells import Registry, blocks, confirmed, refuted, registry
from gpustack.doctor.verdict import verdict
from gpustack.rollout.plan import Plan, StepState, plan
from gpustack.steps import PROBES, STEPS


def questions() -> tuple[Probe[Any], ...]:
    """All that the steps and the doctor's own checks read, and what tells of changes."""
    return tuple({probe.id: probe for probe in (*PROBES, *registry().probes, *changed.PROBES)}.values())


def diagnose(snapshot: Snapshot) -> Diagnosis:
    known, asked = graph(), registry()
    ahead(jobs(known, asked, snapshot), snapshot, questions())
    compared = plan(snapshot, STEPS)
    told = Lots(snapshot, {one.place: one for one in by_steps(known, compared)}, by_tellers(known, asked, snapshot))
    hosts = tuple(host.name for host in snapshot.inventory.hosts)
    found = verdict(Ground(known, hosts, told, blocks(asked, View(snapshot, CLUSTER))))
    drift = tuple(drifted(compared, told, quiet=bool(found.roots)))
    return Diagnosis(snapshot, found, drift, told, unchecked(known, asked))


def unchecked(known: Graph, asked: Registry) -> int:
    return sum(id not in asked.tellers and not fault.told_by for id, fault in known.faults.items())


def by_tellers(known: Graph, asked: Registry, snapshot: Snapshot) -> dict[str, dict[str, Heard]]:
    """Each check runs alone; what it cannot read, or falls over, makes it unknown and no other."""
    return {id: everywhere(teller.tell, snapshot, wheres(known, id, snapshot)) for id, teller in asked.tellers.items()}


def by_steps(known: Graph, compared: Plan) -> Iterator[Judged]:
    """Faults that checks of steps tell: a Mismatch that names a fault confirms it, a check that holds refutes the one
    that is told by it."""
    by_check: dict[str, list[Fault]] = {}
    for fault in known.faults.values():
        by_check.setdefault(fault.told_by, []).append(fault)
    telling: dict[str, list[int]] = {}
    for state in compared.states:
        if state.step not in telling:
            names = [f"{state.step}/{found.check}" for found in state.judgements]
            telling[state.step] = [at for at, name in enumerate(names) if name in by_check]
        # Of thousands of hosts only those are looked at that say something.
        for at in range(len(state.judgements)) if state.outcome == "broken" else telling[state.step]:
            found = state.judgements[at]
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


def read(seen: Sequence[Evidence]) -> set[tuple[str, str]]:
    if isinstance(seen, Seen):
        return seen.asked
    return {(one.answer.probe, one.where) for one in seen}


def drifted(compared: Plan, judged: Judgements, *, quiet: bool) -> Iterable[Drift]:
    """What differs from the spec and confirms no fault. What stands behind another drifted step is that one's
    consequence, and what rests on the same answers as a confirmed fault or state is that over again. Guards and
    conditions of edges hold on a healthy cluster too: they hide nothing. With a root (`quiet`) what comes right by
    itself is the root's."""
    found: dict[tuple[str, str, str], Drift] = {}
    known = graph()
    told = {key for one in having(judged, "confirmed") if one.id in known for key in read(one.evidence)}
    for state in compared.states:
        for one in state.judgements if state.outcome == "broken" and not state.after else ():
            mismatch = one.mismatch
            if not mismatch or (quiet and mismatch.passing) or told & read(one.evidence):
                continue
            key = (state.step, one.check, str(mismatch))
            before = found.get(key, Drift(state.step, one.check, (), mismatch, one.evidence))
            found[key] = Drift(state.step, one.check, (*before.wheres, state.where), mismatch, before.evidence)
    return found.values()
