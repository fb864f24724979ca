"""Plans, verifications and installations for programs."""

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import Any, get_args

from gpustack.ask.judge import Judgement
from gpustack.ask.judge import Outcome as Judged
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.report.document import render_json_document, render_result
from gpustack.report.plan_schema import OutcomeDocument, PlanDocument, VerificationDocument
from gpustack.report.renderings import INSTALL, PLAN
from gpustack.rollout.next_command import suggest_after_install, suggest_after_plan
from gpustack.rollout.plan import Outcome, Plan, Verification

OUTCOMES = get_args(Judged)


def render_plan(plan: Plan, *, verbose: bool = False) -> str:
    return render_json_document(PlanDocument, select_state(plan, verbose=verbose), plan.inventory)


def render_verification(verification: Verification, *, verbose: bool = False) -> str:
    values = select_verification(verification, verbose=verbose)
    return render_json_document(VerificationDocument, values, verification.plan.inventory)


def render_outcome(outcome: Outcome, *, verbose: bool = False, evidence: str = "") -> str:
    return render_result(
        INSTALL,
        OutcomeDocument,
        outcome,
        outcome.before.inventory,
        converged=outcome.verification.plan.converged,
        stopped_hosts=[{"host": host, "step": step} for host, step in outcome.stopped_hosts],
        evidence_directory=evidence,
        verification=select_verification(outcome.verification, verbose=verbose),
        next=suggest_after_install(outcome),
    )


def select_verification(verification: Verification, *, verbose: bool) -> dict[str, Any]:
    state = select_state(verification.plan, verbose=verbose)
    return {**state, "seconds": verification.seconds, "probe_count": verification.questions}


def select_state(plan: Plan, *, verbose: bool) -> dict[str, Any]:
    brief = [replace(state, judgements=drop_evidence(state.judgements, {"ok"})) for state in plan.states]
    return {
        **select_snapshot(plan.snapshot),
        "exit": PLAN.build_exit(plan.exit_status),
        "converged": plan.converged,
        "gpu_summary": plan.gpus,
        "warnings": plan.warnings,
        "states": plan.states if verbose else brief,
        "next": suggest_after_plan(plan),
    }


def select_snapshot(snapshot: Snapshot) -> dict[str, Any]:
    """Select what documents show of a snapshot."""
    return {
        "started_at": snapshot.started_at,
        "seconds": snapshot.seconds,
        "probe_count": len(snapshot.answers),
        "inventory": snapshot.inventory.source,
        "hosts": [select_host(snapshot, host.name, host.address) for host in snapshot.inventory.hosts],
    }


def select_host(snapshot: Snapshot, name: str, address: str) -> dict[str, Any]:
    reach = snapshot.reach.get(name, Reach(name, "not-asked", "it was not contacted"))
    words = {"reason": None, "hint": None} if reach.reached else {"reason": reach.reason, "hint": reach.hint}
    unreachable = not reach.reached if name in snapshot.reach else None
    return {"name": name, "address": address, "unreachable": unreachable, "reference": reach.reference, **words}


def drop_evidence(judgements: Iterable[Judgement], outcomes: Container[str] = OUTCOMES) -> tuple[Judgement, ...]:
    """Drop the evidence of judgements that have one of these outcomes."""
    return tuple(
        replace(judgement, evidence=()) if judgement.outcome in outcomes else judgement for judgement in judgements
    )
