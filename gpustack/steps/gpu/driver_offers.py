"""Settings that the refusals of step gpu-driver offer: each only where it leads on with the facts of the host.

A setting leads on if the check that offers it no longer refuses, and no other check begins to.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps

from gpustack.ask.judge import Check, Result, judge
from gpustack.ask.view import View
from gpustack.command import Hint, Prose, join_hints
from gpustack.steps.step import format_check_name


@dataclass(frozen=True)
class Offer:
    """Hold keys of gpu.driver with their values, and how they are offered behind the hint of a refusal."""

    settings: Mapping[str, str]
    hint: Hint


OFFERS = {
    "driver-mode": Offer({"mode": "auto"}, Prose("set gpu.driver.mode: auto in the spec")),
    "other-drivers": Offer({"mode": "none"}, Prose("keep it with gpu.driver.mode: none in the spec")),
    "module-loaded": Offer({"mode": "host"}, Prose("let gpustack install one with gpu.driver.mode: host in the spec")),
    "fabric": Offer({"mode": "container"}, Prose("set gpu.driver.mode: container in the spec")),
    "generation": Offer({"kernel_module": "open"}, Prose("set gpu.driver.kernel_module: open in the spec")),
}


def add_offers(checks: Sequence[Check]) -> tuple[Check, ...]:
    """Return the checks, with offers behind their hints. An offer is tried with all of them."""
    return tuple(
        add_offer(check, OFFERS[name], checks) if (name := format_check_name(check)) in OFFERS else check
        for check in checks
    )


def add_offer(check: Check, offer: Offer, checks: Sequence[Check]) -> Check:
    @wraps(check)
    def judge_with_offer(view: View) -> Result | None:
        result = check(view)
        if result is None or result.cure == "install" or not does_lead_on(view, check, offer.settings, checks):
            return result
        hints = (result.hint, offer.hint) if result.hint else (offer.hint,)
        return replace(result, hint=join_hints(*hints, separator=", or "))

    return judge_with_offer


def does_lead_on(view: View, check: Check, settings: Mapping[str, str], checks: Sequence[Check]) -> bool:
    """Tell whether these settings resolve the refusal of a check, and bring no other."""
    before, after = find_refusals(view, checks), find_refusals(change_driver(view, settings), checks)
    return after <= before - {format_check_name(check)}


def find_refusals(view: View, checks: Sequence[Check]) -> set[str]:
    """Find the checks that install cannot repair. One whose outcome is unknown counts as well."""
    judgements = (judge(format_check_name(check), check, view.snapshot, view.location) for check in checks)
    return {
        judgement.id
        for judgement in judgements
        if judgement.outcome == "unknown" or (judgement.result and judgement.result.cure != "install")
    }


def change_driver(view: View, settings: Mapping[str, str]) -> View:
    """Return the view with other settings in gpu.driver."""
    inventory = view.snapshot.inventory
    driver = inventory.spec.gpu.driver.model_copy(update=dict(settings))
    gpu = inventory.spec.gpu.model_copy(update={"driver": driver})
    spec = inventory.spec.model_copy(update={"gpu": gpu})
    return View(replace(view.snapshot, inventory=replace(inventory, spec=spec)), view.location)
