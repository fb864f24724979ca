"""Plans, verifications and installations for programs."""

from collections.abc import Container, Iterable
from dataclasses import replace
from typing import Any, get_args

from gpustack.ask.judge import Judgement
from gpustack.ask.judge import Outcome as Judged
from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Reach, Snapshot
from gpustack.ask.view import View
from gpustack.report.document import render_json_document
from gpustack.report.plan_schema import OutcomeDocument, PlanDocument, VerificationDocument
from gpustack.report.renderings import INSTALL, PLAN
from gpustack.rollout.gpus import count_gpus
from gpustack.rollout.next_command import suggest_after_install, suggest_after_plan
from gpustack.rollout.plan import Outcome, Plan, Verification
from gpustack.steps.monitoring.values import describe_lost_history

OUTCOMES = get_args(Judged)


def render_plan(plan: Plan, *, verbose: bool = False) -> str:
    verification = Verification(plan, plan.snapshot.seconds, len(plan.snapshot.answers))
    history = describe_lost_history(View(plan.snapshot, CLUSTER))
    warnings = [history] if history else []
    values = {**select_state(verification, verbose=verbose), "warnings": warnings}
    return render_json_document(PlanDocument, values, plan.inventory)


def render_verification(verification: Verification, *, verbose: bool = False) -> str:
    return render_json_document(
        VerificationDocument, select_state(verification, verbose=verbose), verification.plan.inventory
    )


def render_outcome(outcome: Outcome, *, verbose: bool = False, evidence: str = "") -> str:
    values = {
        **vars(outcome),
        "exit": INSTALL.build_exit(outcome.exit_status),
        "converged": outcome.verification.plan.converged,
        "stopped_hosts": [{"host": host, "step": step} for host, step in outcome.stopped_hosts],
        "evidence_directory": evidence,
        "verification": select_state(outcome.verification, verbose=verbose),
        "next": suggest_after_install(outcome),
    }
    return render_json_document(OutcomeDocument, values, outcome.before.inventory)


def select_state(verification: Verification, *, verbose: bool) -> dict[str, Any]:
    plan = verification.plan
    brief = [replace(state, judgements=drop_evidence(state.judgements, {"ok"})) for state in plan.states]
    return {
        **select_snapshot(plan.snapshot),
        "exit": PLAN.build_exit(plan.exit_status),
        "converged": plan.converged,
        "seconds": verification.seconds,
        "probe_count": verification.questions,
        "gpu_summary": count_gpus(plan),
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
