"""Results for programs: one document per run, with the shape of gpustack/report/schema.py."""

import json
from dataclasses import asdict, fields
from typing import Any, cast

from gpustack.ask.judge import Judgement
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.view import Evidence
from gpustack.config.host import Host
from gpustack.config.inventory import Inventory
from gpustack.report.codes import MEANINGS, exit_code, outcome_code
from gpustack.report.format import Clean, cleaner
from gpustack.report.schema import (
    OUTCOME,
    PLAN,
    VERIFICATION,
    CheckShape,
    EvidenceShape,
    ExitCode,
    ExitShape,
    GpusShape,
    HostShape,
    LeftShape,
    LookShape,
    OutcomeShape,
    StateShape,
)
from gpustack.report.terminal import escaped
from gpustack.rollout.gpus import counted, removal
from gpustack.rollout.next import after_install, after_look
from gpustack.rollout.plan import Outcome, Plan, StepState, Verification

KEPT = 4000
EVIDENCE = {field.name for field in fields(EvidenceShape)}


def plan(found: Plan, *, verbose: bool = False) -> str:
    shape = look(PLAN, found, found.snapshot.took, len(found.snapshot.answers), verbose=verbose)
    return document(shape, found.inventory)


def verification(checked: Verification, *, verbose: bool = False) -> str:
    shape = look(VERIFICATION, checked.plan, checked.seconds, checked.questions, verbose=verbose)
    return document(shape, checked.plan.inventory)


def outcome(done: Outcome, *, verbose: bool = False, evidence: str = "") -> str:
    checked = done.verification
    return document(
        OutcomeShape(
            schema=OUTCOME,
            exit=ending(outcome_code(done)),
            converged=checked.plan.converged,
            seconds=done.seconds,
            played=list(done.played),
            left=[LeftShape(host, step) for host, step in done.left],
            stopped=done.stopped or None,
            evidence=evidence or None,
            verification=look(VERIFICATION, checked.plan, checked.seconds, checked.questions, verbose=verbose),
            next=after_install(done) or None,
        ),
        done.before.inventory,
    )


def document(shape: Any, inventory: Inventory) -> str:
    """What every JSON document passes: no string of it has a secret or an escape left."""
    return escaped(json.dumps(cleaned(asdict(shape), cleaner(inventory)), indent=2, ensure_ascii=False)) + "\n"


def cleaned(value: Any, clean: Clean) -> Any:
    """Times are rounded to milliseconds. Evidence is cut afterwards: half a secret is not known as one."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | tuple):
        return [cleaned(one, clean) for one in value]
    if isinstance(value, float):
        return round(value, 3)
    if not isinstance(value, dict):
        return value
    found = {key: cleaned(one, clean) for key, one in value.items()}
    return shortened(found) if found.keys() == EVIDENCE else found


def shortened(evidence: dict[str, Any]) -> dict[str, Any]:
    long = len(evidence["out"]) > KEPT or len(evidence["err"]) > KEPT
    return evidence | {"out": evidence["out"][:KEPT], "err": evidence["err"][:KEPT], "cut": evidence["cut"] or long}


def ending(code: int) -> ExitShape:
    return ExitShape(cast("ExitCode", code), MEANINGS[code])


def look(schema: str, found: Plan, seconds: float, questions: int, *, verbose: bool) -> LookShape:
    inventory = found.inventory
    return LookShape(
        schema=schema,
        exit=ending(exit_code(found)),
        converged=found.converged,
        taken=found.snapshot.taken.isoformat(timespec="milliseconds"),
        seconds=seconds,
        probes=questions,
        inventory=str(inventory.source) if inventory.source else None,
        hosts=[host_of(found.snapshot, host) for host in inventory.hosts],
        gpus=gpus_of(found),
        states=[state(entry, verbose=verbose) for entry in found.states],
        next=after_look(found) or None,
    )


def gpus_of(found: Plan) -> GpusShape | None:
    gpus = counted(found)
    if gpus is None:
        return None
    stranded = list(removal(gpus.stranded))
    return GpusShape(gpus.expected, gpus.hosts, gpus.allocatable, stranded, list(gpus.aside))


def host_of(snapshot: Snapshot, host: Host) -> HostShape:
    reach = snapshot.reach.get(host.name, Reach(host.name, "not-asked", "it was not asked"))
    return HostShape(
        name=host.name,
        address=host.address,
        reached=reach.reached,
        reference=reach.reference or None,
        reason=None if reach.reached else reach.why,
        hint=None if reach.reached else reach.hint or None,
    )


def state(found: StepState, *, verbose: bool) -> StateShape:
    checks = [check(judgement, verbose=verbose) for judgement in found.judgements]
    return StateShape(found.step, found.where, found.outcome, found.after or None, checks)


def check(found: Judgement, *, verbose: bool) -> CheckShape:
    mismatch = found.result
    kept = found.evidence if verbose or found.outcome != "ok" else ()
    return CheckShape(
        check=found.id,
        outcome=found.outcome,
        what=mismatch.what if mismatch else None,
        expected=mismatch.expected if mismatch else None,
        found=mismatch.found if mismatch else None,
        cure=mismatch.cure if mismatch else None,
        fault=(mismatch.fault or None) if mismatch else None,
        hint=(mismatch.hint or None) if mismatch else None,
        reason=found.why or None,
        evidence=[evidence_of(entry) for entry in kept],
    )


def evidence_of(found: Evidence) -> EvidenceShape:
    answer = found.answer
    return EvidenceShape(
        location=answer.where,
        probe=answer.probe,
        command=found.command,
        rc=answer.rc,
        out=answer.out,
        err=answer.err,
        took=answer.took,
        cut=answer.cut,
        lost=answer.lost,
    )
