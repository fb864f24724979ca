"""Results on stdout in the form that was asked for: `human`, `json`, `junit`, `csv` or `html`."""

import sys
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from gpustack.report.progress import clear_live_lines

if TYPE_CHECKING:
    from gpustack.report.terminal import Terminal
    from gpustack.rollout.plan import Plan

RENDERERS: dict[tuple[str, str], str] = {
    ("rollout.plan:Plan", "human"): "human:render_plan",
    ("rollout.plan:Plan", "json"): "json:render_plan",
    ("rollout.plan:Plan", "junit"): "junit:render_plan",
    ("rollout.plan:Verification", "human"): "human:render_verification",
    ("rollout.plan:Verification", "json"): "json:render_verification",
    ("rollout.plan:Verification", "junit"): "junit:render_verification",
    ("rollout.plan:Outcome", "human"): "human:render_outcome",
    ("rollout.plan:Outcome", "json"): "json:render_outcome",
    ("rollout.plan:Outcome", "junit"): "junit:render_outcome",
    ("rollout.removal:Removal", "human"): "removal.text:render_removal",
    ("rollout.removal:Removal", "json"): "removal.json:render_empty_reset",
    ("rollout.reset:ResetOutcome", "human"): "removal.text:render_outcome",
    ("rollout.reset:ResetOutcome", "json"): "removal.json:render_json",
    ("proof.prove:Proof", "human"): "proof.text:render_human",
    ("proof.prove:Proof", "json"): "proof.json:render_json",
    ("proof.prove:Proof", "junit"): "proof.junit:render_junit",
    ("proof.delivery:Deliveries", "human"): "proof.delivery:render_human",
    ("proof.delivery:Deliveries", "json"): "proof.delivery:render_json",
    ("doctor.finding:Diagnosis", "human"): "doctor.text:render_human",
    ("doctor.finding:Diagnosis", "json"): "doctor.json:render_json",
    ("doctor.finding:Diagnosis", "junit"): "doctor.junit:render_junit",
    ("doctor.finding:Diagnosis", "html"): "doctor.html:render_html",
    ("remedy.offer:Offer", "human"): "fix.text:render_offer",
    ("remedy.fix_result:FixResult", "human"): "fix.text:render_fix",
    ("remedy.fix_result:FixResult", "json"): "fix.json:render_json",
    ("remedy.undo:LastFix", "human"): "fix.text:render_last_fix",
    ("remedy.undo:Rollback", "human"): "fix.text:render_rollback",
    ("remedy.undo:Rollback", "json"): "fix.json:render_rollback",
    ("gpus.activity:Activity", "human"): "gpus.activity:render_human",
    ("gpus.activity:Activity", "json"): "gpus.activity:render_json",
    ("gpus.burn.judge:Burn", "human"): "gpus.burn:render_human",
    ("gpus.burn.judge:Burn", "json"): "gpus.burn:render_json",
    ("gpus.contract:Contract", "human"): "gpus.contract:render_human",
    ("gpus.contract:Contract", "json"): "gpus.contract:render_json",
    ("gpus.contract:Contract", "junit"): "gpus.contract:render_junit",
    ("gpus.series:Metrics", "human"): "gpus.metrics:render_human",
    ("gpus.series:Metrics", "json"): "gpus.metrics:render_json",
    ("gpus.engines.listings:Listing", "human"): "gpus.engines:render_human",
    ("gpus.engines.listings:Listing", "json"): "gpus.engines:render_json",
    ("gpus.engines.change:Preview", "human"): "gpus.change:render_preview",
    ("gpus.engines.change:ChangeResult", "human"): "gpus.change:render_human",
    ("gpus.engines.change:ChangeResult", "json"): "gpus.change:render_json",
    ("gpus.engines.diagnostic:Diagnostic", "human"): "gpus.diagnostic:render_human",
    ("gpus.engines.diagnostic:Diagnostic", "json"): "gpus.diagnostic:render_json",
    ("gpus.engines.diagnostic:Diagnostic", "junit"): "gpus.diagnostic:render_junit",
    ("profile.analysis:Analysis", "human"): "profile.text:render_human",
    ("profile.analysis:Analysis", "json"): "profile.json:render_json",
    ("profile.analysis:Analysis", "html"): "profile.html:render_html",
    ("profile.compare:Comparison", "html"): "profile.html:render_comparison",
    ("profile.compare:Comparison", "human"): "profile.comparison:render_human",
    ("profile.compare:Comparison", "json"): "profile.comparison:render_json",
    ("autoscale.manifest:Draft", "human"): "autoscale.text:render_human",
    ("autoscale.manifest:Draft", "json"): "autoscale.json:render_json",
    ("capacity.state:Capacity", "human"): "capacity.text:render_human",
    ("capacity.state:Capacity", "json"): "capacity.json:render_json",
    ("capacity.state:Capacity", "csv"): "capacity.json:render_csv",
    ("cost.bill:Bill", "human"): "cost.text:render_human",
    ("cost.bill:Bill", "json"): "cost.json:render_json",
    ("cost.bill:Bill", "csv"): "cost.json:render_csv",
    ("cost.bill:Bill", "html"): "cost.html:render_html",
    ("capacity.state:Capacity", "html"): "capacity.html:render_html",
    ("forecast.pool:Forecast", "human"): "forecast.text:render_human",
    ("forecast.pool:Forecast", "json"): "forecast.json:render_json",
    ("forecast.pool:Forecast", "html"): "forecast.html:render_html",
    ("gpus.fleet:Fleet", "human"): "gpus.text:render_human",
    ("gpus.fleet:Fleet", "json"): "gpus.json:render_json",
    ("gpus.fleet:Fleet", "csv"): "gpus.json:render_csv",
}
"""Renderers have a class and a form as their key. Both are names, because modules are imported only when they are
needed: rich, Jinja and the packages of other commands load slowly."""


def show_result(result: object, output: str, **context: Any) -> None:
    """Write a result to stdout. `context` (verbose, evidence, inventory …) reaches the renderers that take it."""
    result_type = type(result)
    module, name = RENDERERS[
        f"{result_type.__module__.removeprefix('gpustack.')}:{result_type.__name__}", output
    ].split(":")
    render = getattr(import_module(f"gpustack.report.{module}"), name)
    options = {key: value for key, value in context.items() if key in signature(render).parameters}
    if output == "human":
        render(build_console(), result, **options)
        return
    text = render(result, **options)
    clear_live_lines()
    sys.stdout.write(text)


def show_converged(before: "Plan", output: str) -> None:
    """Write the result of an install that found everything converged. For programs it is an outcome like any other."""
    from gpustack.rollout.plan import Outcome, Verification

    seconds = before.snapshot.seconds
    verification = Verification(before, seconds, len(before.snapshot.answers))
    show_result(before if output == "human" else Outcome(before, (), verification, (), seconds), output)


def build_console() -> "Terminal":
    from gpustack.report.terminal import Terminal

    clear_live_lines()
    return Terminal()
