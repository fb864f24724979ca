"""A diagnosis as one JSON document, with the shape of gpustack/report/doctor_shape.py."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import cast

from gpustack.doctor.changed import changed
from gpustack.doctor.finding import Branch, Diagnosis, Drift, Finding, Judged, Outcome, Unexplained, spots
from gpustack.doctor.graph import graph
from gpustack.doctor.peers import peers
from gpustack.remedy.commands import commands
from gpustack.report.codes import DIAGNOSED, doctor_code
from gpustack.report.doctor_shape import (
    DOCTOR,
    BranchShape,
    ChangeShape,
    DoctorShape,
    DriftShape,
    FixShape,
    JudgedShape,
    PeersShape,
    RootShape,
    UnexplainedShape,
)
from gpustack.report.json import host_of, seen
from gpustack.report.schema import ExitCode, ExitShape
from gpustack.report.terminal import escaped
from gpustack.report.words import Clean, cleaner


def text(found: Diagnosis, *, verbose: bool = False) -> str:
    snapshot, clean, code = found.snapshot, cleaner(found.snapshot.inventory), doctor_code(found)
    wanted: tuple[Outcome, ...] = ("confirmed", "unknown", *(("refuted",) if verbose else ()))
    kept = [found.judged[place] for place in spots(found.judged, *wanted) if place[0] in graph()]
    document = DoctorShape(
        schema=DOCTOR,
        exit=ExitShape(cast("ExitCode", code), DIAGNOSED[code]),
        healthy=found.healthy,
        taken=snapshot.taken.isoformat(timespec="milliseconds"),
        seconds=round(snapshot.took, 3),
        questions=len(snapshot.answers),
        inventory=str(snapshot.inventory.source) if snapshot.inventory.source else None,
        hosts=[host_of(snapshot, host, clean) for host in snapshot.inventory.hosts],
        roots=[root(one, clean, found, verbose=verbose) for one in found.roots],
        unexplained=[unexplained(one, clean, verbose=verbose) for one in found.unexplained],
        notes=judged(found.verdict.notes, clean),
        drift=[drift(one, clean) for one in found.drift],
        judged=judged(kept, clean, evidence=verbose),
        unchecked=found.unchecked,
    )
    return escaped(json.dumps(asdict(document), indent=2, ensure_ascii=False)) + "\n"


def judged(found: Iterable[Judged], clean: Clean, *, evidence: bool = False) -> list[JudgedShape]:
    return [
        JudgedShape(
            id=one.id,
            where=one.where,
            title=graph()[one.id].title,
            outcome=one.outcome,
            what=clean(one.told.what) if one.told else None,
            expected=clean(one.told.expected) or None if one.told else None,
            found=clean(one.told.found) if one.told else None,
            why=clean(one.why) or None,
            evidence=[seen(entry, clean) for entry in one.evidence] if evidence else [],
        )
        for one in found
    ]


def root(found: Finding, clean: Clean, of: Diagnosis, *, verbose: bool) -> RootShape:
    fault = graph().faults[found.id]
    step = fault.remedy.step if fault.remedy else ""
    return RootShape(
        id=found.id,
        layer=fault.layer,
        title=fault.title,
        cause=fault.cause,
        certainty=found.certainty,
        locations=list(found.wheres),
        judged=judged(found.judged, clean, evidence=True),
        correlated=judged(found.correlated, clean, evidence=True),
        correlation=found.correlation or None,
        changed=[ChangeShape(one.where, one.ago, clean(one.what)) for one in changed(found, of.snapshot)],
        healthy_hosts=[PeersShape(list(one.hosts), clean(one.found)) for one in peers(found, of.judged)],
        ruled_out=judged(found.ruled_out, clean, evidence=verbose),
        impact=judged(found.impact, clean, evidence=verbose),
        caused=judged(found.caused, clean, evidence=verbose),
        uncertain=judged(found.uncertain, clean, evidence=verbose),
        chain=branch(found.chain) if found.chain else None,
        hidden_checks=found.hidden_checks,
        fix=FixShape(
            fault.auto,
            fault.why,
            fault.fix.do,
            [clean(line) for line in commands(found, of.snapshot).repairs],
            step or None,
        ),
        explain=f"gpustack explain {found.id}",
    )


def branch(found: Branch) -> BranchShape:
    below = [branch(one) for one in found.branches]
    return BranchShape(found.id, graph()[found.id].title, list(found.wheres), below)


def unexplained(found: Unexplained, clean: Clean, *, verbose: bool) -> UnexplainedShape:
    return UnexplainedShape(
        id=found.id,
        title=graph()[found.id].title,
        locations=list(found.wheres),
        judged=judged(found.judged, clean, evidence=True),
        suspects=judged(found.suspects, clean, evidence=verbose),
        ruled_out=judged(found.ruled_out, clean, evidence=verbose),
        impact=judged(found.impact, clean, evidence=verbose),
        next_check=found.ask,
    )


def drift(found: Drift, clean: Clean) -> DriftShape:
    said = found.mismatch
    return DriftShape(
        found.step, found.check, list(found.wheres), clean(said.what), clean(said.expected), clean(said.found)
    )
