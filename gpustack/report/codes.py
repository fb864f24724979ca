"""What the exit status says. docs/exit-codes.md has the same table for people; a test compares both."""

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
    from gpustack.gpus.engines.change import Changed
    from gpustack.gpus.engines.diagnostic import Diagnostic
    from gpustack.gpus.engines.listings import Listing
    from gpustack.profile.analysis import Analysis
    from gpustack.profile.compare import Comparison
    from gpustack.profile.gate import Judged
    from gpustack.proof.delivery import Deliveries
    from gpustack.proof.prove import Proof
    from gpustack.remedy.fixed import Fixed
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
# What the same numbers mean of a diagnosis.
DIAGNOSED = {
    0: "healthy",
    1: "a root cause was found, or something differs from the spec",
    8: "unknown: a symptom without a confirmed cause, or some checks could not be evaluated",
}
# And of a fix; what it leaves is diagnosed.
FIXED = DIAGNOSED | {
    5: "a playbook failed, or the fix was stopped",
    6: "a fix did not resolve its fault and was rolled back",
    130: "interrupted",
}
# Of what host engines say, of a change through them, and of a diagnostic.
LISTED = {0: "all engines answered", 8: "unknown: an engine, or its answer, is missing"}
CHANGED = {
    0: "done",
    5: "an engine refused it",
    8: "unknown: an engine gave no answer, or is missing",
    130: "interrupted",
}
# Of an exporter.
CHECKED = {0: "nothing of it is wrong", 1: "something of it is wrong"}
# Of a profile that is judged, and of two that are compared.
ANALYSED = {0: "a verdict", 8: "unknown: too little data for a verdict"}
# Of a suggestion by which metric to scale.
SUGGESTED = {0: "suggested", 8: "unknown: no metric suits"}
COMPARED = {
    0: "compared",
    1: "a change that --fail-if names",
    8: "unknown: too little data, another machine, or a change of --fail-if that cannot be told from noise",
}
# Of hours of GPUs.
REPORTED = {0: "reported", 8: "unknown: less than 95 % of the time was recorded"}
COSTED = REPORTED | {1: "above a budget"}
# Of a forecast.
FORECAST = {
    0: "enough GPUs for the lead time",
    1: "GPUs are to be ordered now",
    8: "unknown: a pool has no forecast",
}
DIAGNOSTIC = {
    0: "every node passed, no test failed",
    1: "a test failed",
    8: "unknown: a node gave no result, a test was not run, or nothing passed",
    130: "interrupted",
}
BURNED = {
    0: "every GPU passed",
    1: "a GPU failed, or is no longer offered",
    8: "unknown: what a GPU reached, or how it was, is not known",
    130: "interrupted",
}
# With several outcomes, the first of these that applies.
PRECEDENCE = (70, 130, 2, 3, 4, 5, 6, 7, 9, 1, 8, 0)


def foremost(codes: Iterable[int]) -> int:
    """Of several codes the one that counts; 0 of none."""
    return min(codes, key=PRECEDENCE.index, default=0)


def exit_code(found: "Plan") -> int:
    """Of `plan` and `verify`."""
    if found.drifted:
        return 1
    return 0 if found.converged else 8


def outcome_code(outcome: "Outcome") -> int:
    """Of `install`. `pending` stands behind something that differs, so it needs no code of its own."""
    after = outcome.verification.plan
    codes = [130] if outcome.stopped == INTERRUPTED else [5] if outcome.stopped else []
    if after.refused or any(played.failures for played in outcome.played):
        codes.append(5)
    if after.drifted:
        codes.append(6 if outcome.played else 1)
    if not after.converged:
        codes.append(8)
    return foremost(codes)


def reset_code(done: "ResetOutcome") -> int:
    """Of `reset`."""
    codes = [130] if done.stopped == INTERRUPTED else [5] if done.stopped else []
    codes += [5] if done.played and done.played.failures else []
    codes += [6] if done.left else []
    codes += [8] if done.unknown or done.after.unreached else []
    return foremost(codes)


def proof_code(done: "Proof") -> int:
    """Of `prove`. GPUs in use are left out of it, unless nothing else is there."""
    codes = [130] if done.stopped == INTERRUPTED else [5] if done.stopped else []
    outcomes = [link.outcome for row in done.rows for _, link in row.links]
    codes += [1] if "failed" in outcomes or done.left else []
    codes += [8] if "unknown" in outcomes or done.unasked else []
    kernels = {row.kernel.outcome for row in done.rows}
    return foremost([*codes, *([8] if kernels == {"skipped"} else [])])


def doctor_code(found: "Diagnosis") -> int:
    """Of `doctor`. A host that could not be asked is a root."""
    codes = [1] if found.roots or found.drift else []
    return foremost([*codes, *([8] if found.unexplained or found.unknown else [])])


def fix_code(done: "Fixed") -> int:
    """Of `doctor --fix`: what became of it, and then what is still found."""
    endings = {one.ending for one in done.attempts}
    codes = [130] if done.stopped == INTERRUPTED or "interrupted" in endings else []
    codes += [5] if any(one.played and one.played.failures for one in done.attempts) else []
    codes += [6] if "not-resolved" in endings else [5] if done.stopped else []
    return foremost([*codes, doctor_code(done.after)])


def delivery_code(done: "Deliveries") -> int:
    """Of `alerts test`."""
    if done.stopped:
        return 130
    return {"delivered": 0, "failed": 1, "unknown": 8}[done.outcome]


def listing_code(found: "Listing") -> int:
    """Of `gpu group list` and its like."""
    return 8 if found.unread else 0


def changed_code(done: "Changed") -> int:
    """Of what changes GPUs through their host engines."""
    endings = {*(one.ending for one in done.endings), *(one.ending for one in done.put_back)}
    codes = [130] if done.stopped == INTERRUPTED else []
    codes += [5] if "refused" in endings else []
    return foremost([*codes, *([8] if "unknown" in endings else [])])


def contract_code(found: "Contract") -> int:
    """Of `gpu check-exporter`."""
    return 0 if found.kept else 1


def analysis_code(found: "Analysis") -> int:
    """Of `profile analyze`."""
    return 8 if found.verdict.confidence == "none" else 0


def suggestion_code(found: "Suggestion") -> int:
    """Of `autoscale suggest`."""
    return 0 if found.metric else 8


def comparison_code(found: "Comparison", gates: "Sequence[Judged]") -> int:
    """Of `profile compare`."""
    codes = [{"failed": 1, "unknown": 8, "passed": 0}[one.outcome] for one in gates]
    return foremost([*codes, 8 if found.outcome in ("insufficient-data", "another-machine") else 0])


def capacity_code(found: "Capacity") -> int:
    """Of `capacity report`."""
    from gpustack.capacity.doubts import ENOUGH

    return 0 if found.usage.coverage >= ENOUGH else 8


def cost_code(found: "Bill") -> int:
    """Of `cost report`."""
    from gpustack.capacity.doubts import ENOUGH

    codes = [1] if any(one.exceeded for one in found.budgets) else []
    return foremost([*codes, 0 if found.usage.coverage >= ENOUGH else 8])


def forecast_code(found: "Forecast") -> int:
    """Of `capacity forecast`."""
    orders = [one.outlook.order if one.outlook else None for one in found.pools]
    return foremost(8 if order is None else int(order > 0) for order in orders)


def diagnostic_code(found: "Diagnostic") -> int:
    """Of `gpu diag`. To skip is not to pass: a node that skipped all is unknown."""
    codes = [130] if found.stopped == INTERRUPTED else []
    codes += [1] if found.count("failed") else []
    return foremost([*codes, *([8] if found.unread or found.unproven or found.count("unknown") else [])])


def burn_code(found: "Burn") -> int:
    """Of `gpu burn`."""
    codes = [130] if found.stopped == INTERRUPTED else []
    codes += [1] if found.count("failed") or found.lost else []
    return foremost([*codes, *([8] if found.unread or found.left or found.count("unknown") or not found.gpus else [])])
