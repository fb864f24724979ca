"""Exit statuses of all commands. docs/exit-codes.md has the same table for people; a test compares both."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpustack.events import INTERRUPTED

if TYPE_CHECKING:
    from gpustack.autoscale.suggest import Suggestion
    from gpustack.capacity.state import Capacity
    from gpustack.cost.bill import Bill
    from gpustack.doctor.finding import Diagnosis
    from gpustack.forecast.pool import Forecast
    from gpustack.gpus.burn.judge import Burn
    from gpustack.gpus.contract import Contract
    from gpustack.gpus.engines.change import ChangeResult
    from gpustack.gpus.engines.diagnostic import Diagnostic
    from gpustack.gpus.engines.listings import Listing
    from gpustack.profile.analysis import Analysis
    from gpustack.profile.compare import Comparison
    from gpustack.profile.gate import GateResult
    from gpustack.proof.delivery import Deliveries
    from gpustack.proof.prove import Proof
    from gpustack.remedy.fix_result import FixResult
    from gpustack.rollout.plan import Outcome, Plan
    from gpustack.rollout.reset import ResetOutcome

MEANINGS = {
    0: "converged",
    1: "something differs",
    2: "wrong usage",
    3: "the configuration is wrong",
    4: "no host, or no Prometheus, could be asked",
    5: "a playbook failed, or a manual step is needed first",
    6: "installed, but the verification found that something still differs",
    7: "another operator is changing this cluster",
    8: "unknown: no difference found, but some checks could not be evaluated",
    9: "the lab or the bundle failed",
    70: "a bug of gpustack",
    130: "interrupted",
}
# A diagnosis gives the same numbers other meanings.
DIAGNOSIS_MEANINGS = {
    0: "healthy",
    1: "a root cause was found, or something differs from the spec",
    8: "unknown: a symptom without a confirmed cause, or some checks could not be evaluated",
}
# A fix ends with a diagnosis.
FIX_MEANINGS = DIAGNOSIS_MEANINGS | {
    5: "a playbook failed, or the fix was stopped",
    6: "a fix did not resolve its fault and was rolled back",
    130: "interrupted",
}
# Listings of GPUs and of what host engines have, and changes through host engines.
LISTING_MEANINGS = {0: "listed", 8: "unknown: an engine, or its answer, is missing"}
CHANGE_MEANINGS = {
    0: "done",
    5: "an engine refused it",
    8: "unknown: an engine gave no answer, or is missing",
    130: "interrupted",
}
# `gpustack gpu check-exporter`.
CONTRACT_MEANINGS = {0: "nothing of it is wrong", 1: "something of it is wrong"}
# `gpustack profile analyze`.
ANALYSIS_MEANINGS = {0: "a verdict", 8: "unknown: too little data for a verdict"}
# `gpustack autoscale suggest`.
SUGGESTION_MEANINGS = {0: "suggested", 8: "unknown: no metric suits"}
COMPARISON_MEANINGS = {
    0: "compared",
    1: "a change that --fail-if names",
    8: "unknown: too little data, another machine, or a change of --fail-if that cannot be told from noise",
}
# Reports of GPU-hours and of their costs.
CAPACITY_MEANINGS = {0: "reported", 8: "unknown: less than 95 % of the time was recorded"}
COST_MEANINGS = CAPACITY_MEANINGS | {1: "above a budget"}
# `gpustack capacity forecast`.
FORECAST_MEANINGS = {
    0: "enough GPUs for the lead time",
    1: "GPUs are to be ordered now",
    8: "unknown: a pool has no forecast",
}
DIAGNOSTIC_MEANINGS = {
    0: "every node passed, no test failed",
    1: "a test failed",
    8: "unknown: a node gave no result, a test was not run, or nothing passed",
    130: "interrupted",
}
BURN_MEANINGS = {
    0: "every GPU passed",
    1: "a GPU failed, or is no longer offered",
    8: "unknown: what a GPU reached, or how it was, is not known",
    130: "interrupted",
}
# Among several outcomes, the first of these counts.
PRECEDENCE = (70, 130, 2, 3, 4, 5, 6, 7, 9, 1, 8, 0)


def select_code(codes: Iterable[int]) -> int:
    """Select the code that counts among several; without any it is 0."""
    return min(codes, key=PRECEDENCE.index, default=0)


def compute_plan_code(plan: "Plan") -> int:
    """Compute the exit status of `gpustack plan` and `gpustack verify`."""
    if plan.drifted_states:
        return 1
    return 0 if plan.converged else 8


def compute_outcome_code(outcome: "Outcome") -> int:
    """Compute the exit status of `gpustack install`. A `pending` state waits for one that differs, so it needs no
    code."""
    after = outcome.verification.plan
    codes = [130] if outcome.stop_reason == INTERRUPTED else [5] if outcome.stop_reason else []
    if after.manual_differences or any(run.failures for run in outcome.playbook_runs):
        codes.append(5)
    if after.drifted_states:
        codes.append(6 if outcome.playbook_runs else 1)
    if not after.converged:
        codes.append(8)
    return select_code(codes)


def compute_reset_code(outcome: "ResetOutcome") -> int:
    """Compute the exit status of `gpustack reset`."""
    codes = [130] if outcome.stop_reason == INTERRUPTED else [5] if outcome.stop_reason else []
    codes += [5] if outcome.playbook_run and outcome.playbook_run.failures else []
    codes += [6] if outcome.incomplete_hosts else []
    codes += [8] if outcome.unknown or outcome.after.unreachable_hosts else []
    return select_code(codes)


def compute_proof_code(proof: "Proof") -> int:
    """Compute the exit status of `gpustack prove`. GPUs in use do not count unless there are no others."""
    codes = [130] if proof.stop_reason == INTERRUPTED else [5] if proof.stop_reason else []
    outcomes = [link.outcome for row in proof.rows for _, link in row.links]
    codes += [1] if "failed" in outcomes or proof.remaining else []
    codes += [8] if "unknown" in outcomes or proof.skipped_hosts else []
    kernels = {row.kernel.outcome for row in proof.rows}
    return select_code([*codes, *([8] if kernels == {"skipped"} else [])])


def compute_diagnosis_code(diagnosis: "Diagnosis") -> int:
    """Compute the exit status of `gpustack doctor`. A host that was not reached counts as a root cause."""
    codes = [1] if diagnosis.roots or diagnosis.drift else []
    return select_code([*codes, *([8] if diagnosis.unexplained_symptoms or diagnosis.unknown else [])])


def compute_fix_code(fix_result: "FixResult") -> int:
    """Compute the exit status of `gpustack doctor --fix` from its attempts and the diagnosis after them."""
    endings = {attempt.ending for attempt in fix_result.attempts}
    codes = [130] if fix_result.stop_reason == INTERRUPTED or "interrupted" in endings else []
    runs = [attempt.play_result for attempt in fix_result.attempts if attempt.play_result]
    codes += [5] if any(run.failures for run in runs) else []
    codes += [6] if "not-resolved" in endings else [5] if fix_result.stop_reason else []
    return select_code([*codes, compute_diagnosis_code(fix_result.after)])


def compute_delivery_code(deliveries: "Deliveries") -> int:
    """Compute the exit status of `gpustack alerts test`."""
    if deliveries.stop_reason:
        return 130
    return {"delivered": 0, "failed": 1, "unknown": 8}[deliveries.outcome]


def compute_listing_code(listing: "Listing") -> int:
    """Compute the exit status of the commands that list what host engines have, such as `gpustack gpu group list`."""
    return 8 if listing.unread else 0


def compute_change_code(change_result: "ChangeResult") -> int:
    """Compute the exit status of the commands that change GPUs through their host engines."""
    endings = {
        *(ending.ending for ending in change_result.endings),
        *(revert.ending for revert in change_result.reverts),
    }
    codes = [130] if change_result.stop_reason == INTERRUPTED else []
    codes += [5] if "refused" in endings else []
    return select_code([*codes, *([8] if "unknown" in endings else [])])


def compute_contract_code(contract: "Contract") -> int:
    """Compute the exit status of `gpustack gpu check-exporter`."""
    return 0 if contract.kept else 1


def compute_analysis_code(analysis: "Analysis") -> int:
    """Compute the exit status of `gpustack profile analyze`."""
    return 8 if analysis.verdict.confidence == "none" else 0


def compute_suggestion_code(suggestion: "Suggestion") -> int:
    """Compute the exit status of `gpustack autoscale suggest`."""
    return 0 if suggestion.metric else 8


def compute_comparison_code(comparison: "Comparison", gates: "Sequence[GateResult]") -> int:
    """Compute the exit status of `gpustack profile compare`."""
    codes = [{"failed": 1, "unknown": 8, "passed": 0}[gate.outcome] for gate in gates]
    return select_code([*codes, 8 if comparison.outcome in ("insufficient-data", "another-machine") else 0])


def compute_capacity_code(capacity: "Capacity") -> int:
    """Compute the exit status of `gpustack capacity report`."""
    from gpustack.capacity.doubts import ENOUGH

    return 0 if capacity.usage.coverage >= ENOUGH else 8


def compute_cost_code(bill: "Bill") -> int:
    """Compute the exit status of `gpustack cost report`."""
    from gpustack.capacity.doubts import ENOUGH

    codes = [1] if any(budget.exceeded for budget in bill.budgets) else []
    return select_code([*codes, 0 if bill.usage.coverage >= ENOUGH else 8])


def compute_forecast_code(forecast: "Forecast") -> int:
    """Compute the exit status of `gpustack capacity forecast`."""
    orders = [pool.outlook.order if pool.outlook else None for pool in forecast.pools]
    return select_code(8 if order is None else int(order > 0) for order in orders)


def compute_diagnostic_code(diagnostic: "Diagnostic") -> int:
    """Compute the exit status of `gpustack gpu diag`. A node on which every test was skipped is unknown."""
    codes = [130] if diagnostic.stop_reason == INTERRUPTED else []
    codes += [1] if diagnostic.count("failed") else []
    return select_code(
        [*codes, *([8] if diagnostic.unread or diagnostic.unproven_nodes or diagnostic.count("unknown") else [])]
    )


def compute_burn_code(burn: "Burn") -> int:
    """Compute the exit status of `gpustack gpu burn`."""
    codes = [130] if burn.stop_reason == INTERRUPTED else []
    codes += [1] if burn.count("failed") or burn.lost_gpus else []
    return select_code(
        [*codes, *([8] if burn.unread or burn.cleanup_error or burn.count("unknown") or not burn.gpus else [])]
    )
