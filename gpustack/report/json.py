"""Plans, verifications and installations for programs."""

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import Any, get_args

from gpustack.ask.judge import Judgement
from gpustack.ask.judge import Outcome as Judged
from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.view import View
from gpustack.report.codes import exit_code, outcome_code
from gpustack.report.document import document, ending
from gpustack.report.plan_schema import OutcomeDocument, PlanDocument, VerificationDocument
from gpustack.rollout.gpus import counted
from gpustack.rollout.next import after_install, after_look
from gpustack.rollout.plan import Outcome, Plan, Verification
from gpustack.steps.monitoring.values import lost_history

OUTCOMES = get_args(Judged)


def plan(found: Plan, *, verbose: bool = False) -> str:
    asked = Verification(found, found.snapshot.took, len(found.snapshot.answers))
    history = lost_history(View(found.snapshot, CLUSTER))
    return document(PlanDocument, {**look(asked, verbose=verbose), "history": history}, found.inventory)


def verification(checked: Verification, *, verbose: bool = False) -> str:
    return document(VerificationDocument, look(checked, verbose=verbose), checked.plan.inventory)


def outcome(done: Outcome, *, verbose: bool = False, evidence: str = "") -> str:
    values = {
        **vars(done),
        "exit": ending(outcome_code(done)),
        "converged": done.verification.plan.converged,
        "left": [{"host": host, "step": step} for host, step in done.left],
        "evidence": evidence,
        "verification": look(done.verification, verbose=verbose),
        "next": after_install(done),
    }
    return document(OutcomeDocument, values, done.before.inventory)


def look(checked: Verification, *, verbose: bool) -> dict[str, Any]:
    found = checked.plan
    brief = [replace(one, judgements=drop_evidence(one.judgements, {"ok"})) for one in found.states]
    return {
        **select_snapshot(found.snapshot),
        "exit": ending(exit_code(found)),
        "converged": found.converged,
        "seconds": checked.seconds,
        "probes": checked.questions,
        "gpus": counted(found),
        "states": found.states if verbose else brief,
        "next": after_look(found),
    }


def select_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """What documents show of it."""
    return {
        "taken": snapshot.taken,
        "seconds": snapshot.took,
        "probes": len(snapshot.answers),
        "inventory": snapshot.inventory.source,
        "hosts": [select_host(snapshot, host.name, host.address) for host in snapshot.inventory.hosts],
    }


def select_host(snapshot: Snapshot, name: str, address: str) -> dict[str, Any]:
    reach = snapshot.reach.get(name, Reach(name, "not-asked", "it was not contacted"))
    words = {"reason": None, "hint": None} if reach.reached else {"reason": reach.why, "hint": reach.hint}
    return {"name": name, "address": address, "reached": reach.reached, "reference": reach.reference, **words}


def drop_evidence(judged: Iterable[Judgement], outcomes: Container[str] = OUTCOMES) -> tuple[Judgement, ...]:
    """Of those with one of these outcomes."""
    return tuple(replace(one, evidence=()) if one.outcome in outcomes else one for one in judged)
