"""A result to stdout, in the form asked for: `human`, `json`, `junit`, and `html` of a diagnosis or a profile."""

import sys
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from gpustack.doctor.finding import Diagnosis
from gpustack.gpus.activity import Activity
from gpustack.gpus.contract import Contract
from gpustack.gpus.engines.change import Changed, Preview
from gpustack.gpus.engines.diagnostic import Diagnostic
from gpustack.gpus.engines.listings import Listing
from gpustack.gpus.fleet import Fleet
from gpustack.gpus.series import Metrics
from gpustack.profile.analysis import Analysis
from gpustack.profile.compare import Comparison
from gpustack.proof.delivery import Deliveries
from gpustack.proof.prove import Proof
from gpustack.remedy.fixed import Fixed
from gpustack.remedy.offer import Offer
from gpustack.remedy.undo import Last, Undone
from gpustack.report.progress import rest
from gpustack.rollout.plan import Outcome, Plan, Verification
from gpustack.rollout.removal import Removal
from gpustack.rollout.reset import ResetOutcome

if TYPE_CHECKING:
    from gpustack.report.terminal import Terminal

RENDERERS: dict[tuple[type, str], str] = {
    (Plan, "human"): "human:plan",
    (Plan, "json"): "json:plan",
    (Plan, "junit"): "junit:plan",
    (Verification, "human"): "human:verification",
    (Verification, "json"): "json:verification",
    (Verification, "junit"): "junit:verification",
    (Outcome, "human"): "human:outcome",
    (Outcome, "json"): "json:outcome",
    (Outcome, "junit"): "junit:outcome",
    (Removal, "human"): "removal.text:removal",
    (Removal, "json"): "removal.json:nothing",
    (ResetOutcome, "human"): "removal.text:outcome",
    (ResetOutcome, "json"): "removal.json:text",
    (Proof, "human"): "proof.text:proof",
    (Proof, "json"): "proof.json:text",
    (Proof, "junit"): "proof.junit:text",
    (Deliveries, "human"): "proof.delivery:deliveries",
    (Deliveries, "json"): "proof.delivery:text",
    (Diagnosis, "human"): "doctor.text:diagnosis",
    (Diagnosis, "json"): "doctor.json:text",
    (Diagnosis, "junit"): "doctor.junit:text",
    (Diagnosis, "html"): "doctor.html:text",
    (Offer, "human"): "fix.text:offer",
    (Fixed, "human"): "fix.text:fixed",
    (Fixed, "json"): "fix.json:text",
    (Last, "human"): "fix.text:last_fix",
    (Undone, "human"): "fix.text:undone",
    (Undone, "json"): "fix.json:undone",
    (Activity, "human"): "gpus.activity:activity",
    (Activity, "json"): "gpus.activity:text",
    (Contract, "human"): "gpus.contract:contract",
    (Contract, "json"): "gpus.contract:text",
    (Contract, "junit"): "gpus.contract:cases",
    (Metrics, "human"): "gpus.metrics:metrics",
    (Metrics, "json"): "gpus.metrics:text",
    (Listing, "human"): "gpus.engines:listing",
    (Listing, "json"): "gpus.engines:text",
    (Preview, "human"): "gpus.change:preview",
    (Changed, "human"): "gpus.change:changed",
    (Changed, "json"): "gpus.change:text",
    (Diagnostic, "human"): "gpus.diagnostic:diagnostic",
    (Diagnostic, "json"): "gpus.diagnostic:text",
    (Diagnostic, "junit"): "gpus.diagnostic:cases",
    (Analysis, "human"): "profile.text:analysis",
    (Analysis, "json"): "profile.json:text",
    (Analysis, "html"): "profile.html:text",
    (Comparison, "html"): "profile.html:comparison",
    (Comparison, "human"): "profile.comparison:comparison",
    (Comparison, "json"): "profile.comparison:text",
    (Fleet, "human"): "gpus.text:fleet",
    (Fleet, "json"): "gpus.json:fleet",
    (Fleet, "csv"): "gpus.json:table",
}
"""Modules of this room, imported when their form is asked for: rich and Jinja take long."""


def show(result: object, output: str, **context: Any) -> None:
    """`context` (verbose, evidence, inventory …) reaches the renderers that take it."""
    module, name = RENDERERS[type(result), output].split(":")
    render = getattr(import_module(f"gpustack.report.{module}"), name)
    wanted = {key: value for key, value in context.items() if key in signature(render).parameters}
    if output == "human":
        render(console(), result, **wanted)
        return
    text = render(result, **wanted)
    rest()
    sys.stdout.write(text)


def show_converged(before: Plan, output: str) -> None:
    """An install that found everything as it should be: for programs an outcome like any other."""
    seconds = before.snapshot.took
    checked = Verification(before, seconds, len(before.snapshot.answers))
    show(before if output == "human" else Outcome(before, (), checked, (), seconds), output)


def console() -> "Terminal":
    from gpustack.report.terminal import Terminal

    rest()
    return Terminal()
