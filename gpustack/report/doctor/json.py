"""A diagnosis as one JSON document, with the shape of gpustack/report/doctor/shape.py."""

from collections.abc import Iterable
from typing import cast

from gpustack.ask.judge import Judgement, Outcome
from gpustack.doctor.finding import Branch, Diagnosis, Drift, Finding, Unexplained, with_outcome
from gpustack.doctor.graph import graph
from gpustack.doctor.peers import peers
from gpustack.doctor.recent_changes import changed
from gpustack.remedy.commands import commands
from gpustack.report.codes import DIAGNOSED, doctor_code
from gpustack.report.doctor.shape import (
    DOCTOR,
    BranchShape,
    ChangeShape,
    DoctorShape,
    DriftShape,
    FixShape,
    JudgedShape,
    RootShape,
    UnexplainedShape,
)
from gpustack.report.json import document, evidence_of, host_of
from gpustack.report.schema import ExitCode, ExitShape


def text(found: Diagnosis, *, verbose: bool = False) -> str:
    snapshot, code = found.snapshot, doctor_code(found)
    wanted: tuple[Outcome, ...] = ("failed", "unknown", *(("ok",) if verbose else ()))
    kept = [one for one in with_outcome(found.judged, *wanted) if one.id in graph()]
    shape = DoctorShape(
        schema=DOCTOR,
        exit=ExitShape(cast("ExitCode", code), DIAGNOSED[code]),
        healthy=found.healthy,
        taken=snapshot.taken.isoformat(timespec="milliseconds"),
        seconds=snapshot.took,
        probes=len(snapshot.answers),
        inventory=str(snapshot.inventory.source) if snapshot.inventory.source else None,
        hosts=[host_of(snapshot, host) for host in snapshot.inventory.hosts],
        roots=[root(one, found, verbose=verbose) for one in found.roots],
        unexplained=[unexplained(one, verbose=verbose) for one in found.unexplained],
        notes=judged(found.verdict.notes),
        drift=[drift(one) for one in found.drift],
        judged=judged(kept, evidence=verbose),
        unchecked=found.unchecked,
    )
    return document(shape, snapshot.inventory)


def judged(found: Iterable[Judgement], *, evidence: bool = False) -> list[JudgedShape]:
    return [
        JudgedShape(
            id=one.id,
            location=one.where,
            title=graph()[one.id].title,
            outcome=one.outcome,
            what=one.result.what if one.result else None,
            expected=one.result.expected or None if one.result else None,
            found=one.result.found if one.result else None,
            reason=one.why or None,
            evidence=[evidence_of(entry) for entry in one.evidence] if evidence else [],
        )
        for one in found
    ]


def root(found: Finding, of: Diagnosis, *, verbose: bool) -> RootShape:
    fault = graph().faults[found.id]
    step = fault.remedy.step if fault.remedy else ""
    return RootShape(
        id=found.id,
        layer=fault.layer,
        title=fault.title,
        cause=fault.cause,
        certainty=found.certainty,
        locations=list(found.locations),
        judged=judged(found.judged, evidence=True),
        correlated=judged(found.correlated, evidence=True),
        correlation=found.correlation or None,
        changed=[ChangeShape(one.where, one.ago, one.what) for one in changed(found, of.snapshot)],
        healthy_hosts=list(peers(found, of.judged)),
        ruled_out=judged(found.ruled_out, evidence=verbose),
        impact=judged(found.impact, evidence=verbose),
        caused=judged(found.caused, evidence=verbose),
        uncertain=judged(found.uncertain, evidence=verbose),
        chain=branch(found.chain) if found.chain else None,
        hidden_checks=found.hidden_checks,
        fix=FixShape(
            fault.auto,
            fault.why,
            fault.fix.do,
            list(commands(found, of.snapshot).repairs),
            step or None,
        ),
        explain=f"gpustack explain {found.id}",
    )


def branch(found: Branch) -> BranchShape:
    below = [branch(one) for one in found.branches]
    return BranchShape(found.id, graph()[found.id].title, list(found.locations), below)


def unexplained(found: Unexplained, *, verbose: bool) -> UnexplainedShape:
    return UnexplainedShape(
        id=found.id,
        title=graph()[found.id].title,
        locations=list(found.locations),
        judged=judged(found.judged, evidence=True),
        suspects=judged(found.suspects, evidence=verbose),
        ruled_out=judged(found.ruled_out, evidence=verbose),
        impact=judged(found.impact, evidence=verbose),
        next_check=found.ask,
    )


def drift(found: Drift) -> DriftShape:
    mismatch = found.result
    return DriftShape(found.step, found.check, list(found.locations), mismatch.what, mismatch.expected, mismatch.found)
