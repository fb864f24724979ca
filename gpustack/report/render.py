"""A result to stdout, in the form asked for: `human`, `json`, `junit`, and `html` of a diagnosis or a profile."""

import sys
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from gpustack.report.progress import rest

if TYPE_CHECKING:
    from gpustack.report.terminal import Terminal
    from gpustack.rollout.plan import Plan

RENDERERS: dict[tuple[str, str], str] = {
    ("rollout.plan:Plan", "human"): "human:plan",
    ("rollout.plan:Plan", "json"): "json:plan",
    ("rollout.plan:Plan", "junit"): "junit:plan",
    ("rollout.plan:Verification", "human"): "human:verification",
    ("rollout.plan:Verification", "json"): "json:verification",
    ("rollout.plan:Verification", "junit"): "junit:verification",
    ("rollout.plan:Outcome", "human"): "human:outcome",
    ("rollout.plan:Outcome", "json"): "json:outcome",
    ("rollout.plan:Outcome", "junit"): "junit:outcome",
    ("rollout.removal:Removal", "human"): "removal.text:removal",
    ("rollout.removal:Removal", "json"): "removal.json:nothing",
    ("rollout.reset:ResetOutcome", "human"): "removal.text:outcome",
    ("rollout.reset:ResetOutcome", "json"): "removal.json:text",
    ("proof.prove:Proof", "human"): "proof.text:proof",
    ("proof.prove:Proof", "json"): "proof.json:text",
    ("proof.prove:Proof", "junit"): "proof.junit:text",
    ("proof.delivery:Deliveries", "human"): "proof.delivery:deliveries",
    ("proof.delivery:Deliveries", "json"): "proof.delivery:text",
    ("doctor.finding:Diagnosis", "human"): "doctor.text:diagnosis",
    ("doctor.finding:Diagnosis", "json"): "doctor.json:text",
    ("doctor.finding:Diagnosis", "junit"): "doctor.junit:text",
    ("doctor.finding:Diagnosis", "html"): "doctor.html:text",
    ("remedy.offer:Offer", "human"): "fix.text:offer",
    ("remedy.fixed:Fixed", "human"): "fix.text:fixed",
    ("remedy.fixed:Fixed", "json"): "fix.json:text",
    ("remedy.undo:LastFix", "human"): "fix.text:last_fix",
    ("remedy.undo:Rollback", "human"): "fix.text:undone",
    ("remedy.undo:Rollback", "json"): "fix.json:undone",
    ("gpus.activity:Activity", "human"): "gpus.activity:activity",
    ("gpus.activity:Activity", "json"): "gpus.activity:text",
    ("gpus.burn.judge:Burn", "human"): "gpus.burn:burn",
    ("gpus.burn.judge:Burn", "json"): "gpus.burn:text",
    ("gpus.contract:Contract", "human"): "gpus.contract:contract",
    ("gpus.contract:Contract", "json"): "gpus.contract:text",
    ("gpus.contract:Contract", "junit"): "gpus.contract:cases",
    ("gpus.series:Metrics", "human"): "gpus.metrics:metrics",
    ("gpus.series:Metrics", "json"): "gpus.metrics:text",
    ("gpus.engines.listings:Listing", "human"): "gpus.engines:listing",
    ("gpus.engines.listings:Listing", "json"): "gpus.engines:text",
    ("gpus.engines.change:Preview", "human"): "gpus.change:preview",
    ("gpus.engines.change:Changed", "human"): "gpus.change:changed",
    ("gpus.engines.change:Changed", "json"): "gpus.change:text",
    ("gpus.engines.diagnostic:Diagnostic", "human"): "gpus.diagnostic:diagnostic",
    ("gpus.engines.diagnostic:Diagnostic", "json"): "gpus.diagnostic:text",
    ("gpus.engines.diagnostic:Diagnostic", "junit"): "gpus.diagnostic:cases",
    ("profile.analysis:Analysis", "human"): "profile.text:analysis",
    ("profile.analysis:Analysis", "json"): "profile.json:text",
    ("profile.analysis:Analysis", "html"): "profile.html:text",
    ("profile.compare:Comparison", "html"): "profile.html:comparison",
    ("profile.compare:Comparison", "human"): "profile.comparison:comparison",
    ("profile.compare:Comparison", "json"): "profile.comparison:text",
    ("autoscale.manifest:Draft", "human"): "autoscale.text:draft",
    ("autoscale.manifest:Draft", "json"): "autoscale.json:text",
    ("capacity.state:Capacity", "human"): "capacity.text:capacity",
    ("capacity.state:Capacity", "json"): "capacity.json:text",
    ("capacity.state:Capacity", "csv"): "capacity.json:table",
    ("cost.bill:Bill", "human"): "cost.text:bill",
    ("cost.bill:Bill", "json"): "cost.json:text",
    ("cost.bill:Bill", "csv"): "cost.json:table",
    ("cost.bill:Bill", "html"): "cost.html:text",
    ("capacity.state:Capacity", "html"): "capacity.html:text",
    ("forecast.pool:Forecast", "human"): "forecast.text:forecast",
    ("forecast.pool:Forecast", "json"): "forecast.json:text",
    ("forecast.pool:Forecast", "html"): "forecast.html:text",
    ("gpus.fleet:Fleet", "human"): "gpus.text:fleet",
    ("gpus.fleet:Fleet", "json"): "gpus.json:fleet",
    ("gpus.fleet:Fleet", "csv"): "gpus.json:table",
}
"""By class and form; both are names, and modules are imported when they are asked for: rich, Jinja, and the rooms of
commands that are not run take long."""


def show(result: object, output: str, **context: Any) -> None:
    """`context` (verbose, evidence, inventory …) reaches the renderers that take it."""
    of = type(result)
    module, name = RENDERERS[f"{of.__module__.removeprefix('gpustack.')}:{of.__name__}", output].split(":")
    render = getattr(import_module(f"gpustack.report.{module}"), name)
    wanted = {key: value for key, value in context.items() if key in signature(render).parameters}
    if output == "human":
        render(console(), result, **wanted)
        return
    text = render(result, **wanted)
    rest()
    sys.stdout.write(text)


def show_converged(before: "Plan", output: str) -> None:
    """An install that found everything as it should be: for programs an outcome like any other."""
    from gpustack.rollout.plan import Outcome, Verification

    seconds = before.snapshot.took
    checked = Verification(before, seconds, len(before.snapshot.answers))
    show(before if output == "human" else Outcome(before, (), checked, (), seconds), output)


def console() -> "Terminal":
    from gpustack.report.terminal import Terminal

    rest()
    return Terminal()
