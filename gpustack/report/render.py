"""A result to stdout, in the form asked for: `human`, `json`, `junit`, and `html` of a diagnosis."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpustack.config.inventory import Inventory
from gpustack.doctor.finding import Diagnosis
from gpustack.doctor.watch import Change
from gpustack.proof.delivery import Delivery
from gpustack.proof.prove import Proof
from gpustack.report import codes
from gpustack.report.progress import rest
from gpustack.rollout.plan import Outcome, Plan, Verification
from gpustack.rollout.removal import Removal
from gpustack.rollout.reset import ResetOutcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gpustack.remedy.fixed import Fixed
    from gpustack.remedy.offer import Offer
    from gpustack.remedy.undo import Last, Undone
    from gpustack.report.terminal import Terminal

exit_code = codes.exit_code
outcome_code = codes.outcome_code
reset_code = codes.reset_code
proof_code = codes.proof_code
delivery_code = codes.delivery_code
doctor_code = codes.doctor_code
fix_code = codes.fix_code


def plan(found: Plan, output: str, *, verbose: bool = False) -> None:
    if output == "human":
        from gpustack.report import human

        return human.plan(console(), found, verbose=verbose)
    from gpustack.report import json, junit

    return put(json.plan(found, verbose=verbose) if output == "json" else junit.plan(found))


def verification(checked: Verification, output: str, *, verbose: bool = False) -> None:
    if output == "human":
        from gpustack.report import human

        return human.verification(console(), checked, verbose=verbose)
    from gpustack.report import json, junit

    return put(json.verification(checked, verbose=verbose) if output == "json" else junit.verification(checked))


def outcome(done: Outcome, output: str, *, verbose: bool = False, evidence: str = "") -> None:
    """`evidence` is the run's folder."""
    if output == "human":
        from gpustack.report import human

        return human.outcome(console(), done, verbose=verbose, evidence=evidence)
    from gpustack.report import json, junit

    return put(json.outcome(done, verbose=verbose, evidence=evidence) if output == "json" else junit.outcome(done))


def nothing_to_do(before: Plan, output: str) -> None:
    """An install that found everything as it should be: for programs an outcome like any other."""
    if output == "human":
        return plan(before, output)
    seconds = before.snapshot.took
    checked = Verification(before, seconds, len(before.snapshot.answers))
    return outcome(Outcome(before, (), checked, (), seconds), output)


def removal(before: Removal) -> None:
    """What a reset would remove; programs get it with the outcome."""
    from gpustack.report.removal import text as human

    human.removal(console(), before)


def nothing_to_remove(before: Removal, output: str) -> None:
    from gpustack.report.removal import json as removal_json
    from gpustack.report.removal import text as human

    return human.nothing(console(), before) if output == "human" else put(removal_json.nothing(before))


def reset(done: ResetOutcome, output: str, *, evidence: str) -> None:
    """`evidence` is the run's folder."""
    from gpustack.report.removal import json as removal_json
    from gpustack.report.removal import text as human

    return human.outcome(console(), done, evidence) if output == "human" else put(removal_json.text(done, evidence))


def proof(done: Proof, inventory: Inventory, output: str, *, evidence: str = "") -> None:
    """`evidence` is the run's folder."""
    if output == "human":
        from gpustack.report.proof import text as human

        return human.proof(console(), done, inventory, evidence)
    from gpustack.report.proof import json as proof_json
    from gpustack.report.proof import junit as proof_junit

    return put(proof_json.text(done, inventory, evidence) if output == "json" else proof_junit.text(done, inventory))


def delivery(done: Delivery, inventory: Inventory, output: str) -> None:
    from gpustack.report.proof import delivery as reports

    return reports.delivery(console(), done, inventory) if output == "human" else put(reports.text(done, inventory))


def diagnosis(found: Diagnosis, output: str, *, verbose: bool = False) -> None:
    if output == "human":
        from gpustack.report.doctor import text as human

        return human.diagnosis(console(), found, verbose=verbose)
    if output == "html":
        from gpustack.report.doctor import html as doctor_html

        return put(doctor_html.text(found, verbose=verbose))
    from gpustack.report.doctor import json as doctor_json
    from gpustack.report.doctor import junit as doctor_junit

    return put(doctor_json.text(found, verbose=verbose) if output == "json" else doctor_junit.text(found))


def changes(found: Diagnosis, changed: Sequence[Change], *, verbose: bool = False) -> None:
    """What a watched diagnosis says otherwise than the one before."""
    from gpustack.report.doctor import changes as doctor_changes

    doctor_changes.changes(console(), found, changed, verbose=verbose)


def offer(one: "Offer", differences: "Sequence[str]", inventory: Inventory) -> None:
    """What a fix would do, before it is asked about."""
    from gpustack.report.fix import text as human

    human.offer(console(), one, differences, inventory)


def fixed(done: "Fixed", output: str, *, evidence: str, verbose: bool = False) -> None:
    """`evidence` is the run's folder, or empty."""
    from gpustack.report.fix import json as fix_json
    from gpustack.report.fix import text as human

    if output == "human":
        return human.fixed(console(), done, evidence=evidence, verbose=verbose)
    return put(fix_json.text(done, evidence))


def last_fix(found: "Last", inventory: Inventory) -> None:
    """What an undo would put back, before it is asked about."""
    from gpustack.report.fix import text as human

    human.last_fix(console(), found, inventory)


def undone(done: "Undone", inventory: Inventory, output: str, *, evidence: str) -> None:
    """`evidence` is the run's folder."""
    from gpustack.report.fix import json as fix_json
    from gpustack.report.fix import text as human

    if output == "human":
        return human.undone(console(), done, inventory, evidence=evidence)
    return put(fix_json.undone(done, inventory, evidence))


def console() -> "Terminal":
    from gpustack.report.terminal import Terminal

    rest()
    return Terminal()


def put(text: str) -> None:
    rest()
    sys.stdout.write(text)
