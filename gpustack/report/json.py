"""Results for programs: one document per run, with the shape of gpustack/report/schema.py."""

import json
from dataclasses import asdict
from typing import cast

from gpustack.ask.alike import Evidence
from gpustack.ask.judge import Judgement
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.config.host import Host
from gpustack.report.codes import MEANINGS, exit_code, outcome_code
from gpustack.report.schema import (
    OUTCOME,
    PLAN,
    VERIFICATION,
    CheckShape,
    EvidenceShape,
    ExitCode,
    ExitShape,
    FailureShape,
    GpusShape,
    HostShape,
    LeftShape,
    LookShape,
    OutcomeShape,
    PlayedShape,
    StateShape,
)
from gpustack.report.terminal import escaped
from gpustack.report.words import Clean, cleaner
from gpustack.rollout.gpus import counted, removal
from gpustack.rollout.next import after_install, after_look
from gpustack.rollout.plan import Outcome, Plan, Played, StepState, Verification

KEPT = 4000


def plan(found: Plan, *, verbose: bool = False) -> str:
    return text(look(PLAN, found, found.snapshot.took, len(found.snapshot.answers), verbose=verbose))


def verification(checked: Verification, *, verbose: bool = False) -> str:
    return text(look(VERIFICATION, checked.plan, checked.seconds, checked.questions, verbose=verbose))


def outcome(done: Outcome, *, verbose: bool = False, evidence: str = "") -> str:
    checked, clean = done.verification, cleaner(done.before.inventory)
    return text(
        OutcomeShape(
            schema=OUTCOME,
            exit=ending(outcome_code(done)),
            converged=checked.plan.converged,
            seconds=round(done.seconds, 3),
            played=[playbook(played, clean) for played in done.played],
            left=[LeftShape(host, step) for host, step in done.left],
            stopped=clean(done.stopped) or None,
            evidence=evidence or None,
            verification=look(VERIFICATION, checked.plan, checked.seconds, checked.questions, verbose=verbose),
            next=clean(after_install(done)) or None,
        )
    )


def text(document: LookShape | OutcomeShape) -> str:
    return escaped(json.dumps(asdict(document), indent=2, ensure_ascii=False)) + "\n"


def ending(code: int) -> ExitShape:
    return ExitShape(cast("ExitCode", code), MEANINGS[code])


def look(schema: str, found: Plan, seconds: float, questions: int, *, verbose: bool) -> LookShape:
    inventory, clean = found.inventory, cleaner(found.inventory)
    return LookShape(
        schema=schema,
        exit=ending(exit_code(found)),
        converged=found.converged,
        taken=found.snapshot.taken.isoformat(timespec="milliseconds"),
        seconds=round(seconds, 3),
        questions=questions,
        inventory=str(inventory.source) if inventory.source else None,
        hosts=[host_of(found.snapshot, host, clean) for host in inventory.hosts],
        gpus=gpus_of(found, clean),
        states=[state(entry, clean, verbose=verbose) for entry in found.states],
        next=clean(after_look(found)) or None,
    )


def gpus_of(found: Plan, clean: Clean) -> GpusShape | None:
    gpus = counted(found)
    if gpus is None:
        return None
    stranded = [clean(command) for command in removal(gpus.stranded)]
    return GpusShape(gpus.expected, gpus.hosts, gpus.allocatable, stranded, list(gpus.aside))


def host_of(snapshot: Snapshot, host: Host, clean: Clean) -> HostShape:
    reach = snapshot.reach.get(host.name, Reach(host.name, "not-asked", "it was not asked"))
    return HostShape(
        name=host.name,
        address=host.address,
        reached=reach.reached,
        reference=reach.reference or None,
        why=None if reach.reached else clean(reach.why),
        hint=None if reach.reached else clean(reach.hint) or None,
    )


def state(found: StepState, clean: Clean, *, verbose: bool) -> StateShape:
    checks = [check(judgement, clean, verbose=verbose) for judgement in found.judgements]
    return StateShape(found.step, found.where, found.outcome, found.after or None, checks)


def check(found: Judgement, clean: Clean, *, verbose: bool) -> CheckShape:
    mismatch = found.mismatch
    kept = found.evidence if verbose or found.outcome != "holds" else ()
    return CheckShape(
        check=found.check,
        outcome=found.outcome,
        what=clean(mismatch.what) if mismatch else None,
        expected=clean(mismatch.expected) if mismatch else None,
        found=clean(mismatch.found) if mismatch else None,
        cure=mismatch.cure if mismatch else None,
        fault=(mismatch.fault or None) if mismatch else None,
        hint=(clean(mismatch.hint) or None) if mismatch else None,
        why=clean(found.why) or None,
        evidence=[seen(entry, clean) for entry in kept],
    )


def seen(found: Evidence, clean: Clean) -> EvidenceShape:
    answer = found.answer
    out, err = clean(answer.out), clean(answer.err)
    return EvidenceShape(
        where=answer.where,
        probe=answer.probe,
        command=found.command,
        rc=answer.rc,
        out=out[:KEPT],
        err=err[:KEPT],
        took=answer.took,
        cut=answer.cut or len(out) > KEPT or len(err) > KEPT,
        lost=clean(answer.lost),
    )


def playbook(found: Played, clean: Clean) -> PlayedShape:
    return PlayedShape(
        step=found.step,
        hosts=list(found.hosts),
        changed=list(found.changed),
        failed=list(found.failed),
        tasks_changed=found.tasks_changed,
        seconds=round(found.seconds, 3),
        command=found.command,
        failures=[
            FailureShape(bad.host, clean(bad.task), bad.path, clean(bad.message), bad.unreachable)
            for bad in found.failures
        ],
    )
