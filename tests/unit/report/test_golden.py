"""Every report as text, compared with tests/golden.

`GOLDEN=write pytest tests/unit/report` writes them anew; the difference is then to be read in git.
"""

import io
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.proof.delivery import Arrival, Deliveries, Delivery
from gpustack.report import human, json, junit
from gpustack.report.autoscale import json as suggestions_json
from gpustack.report.autoscale import text as suggestions
from gpustack.report.capacity import json as capacity_json
from gpustack.report.capacity import text as capacity
from gpustack.report.cost import json as cost_json
from gpustack.report.cost import text as cost
from gpustack.report.doctor import json as doctor_json
from gpustack.report.doctor import junit as doctor_junit
from gpustack.report.doctor import text as doctor
from gpustack.report.error import render
from gpustack.report.fix import json as fix_json
from gpustack.report.fix import text as fix
from gpustack.report.forecast import json as forecasts_json
from gpustack.report.forecast import text as forecasts
from gpustack.report.gpus import activity as gpu_activity
from gpustack.report.gpus import burn as gpu_burn
from gpustack.report.gpus import change as gpu_change
from gpustack.report.gpus import contract as gpu_contract
from gpustack.report.gpus import diagnostic as gpu_diagnostic
from gpustack.report.gpus import engines as gpu_engines
from gpustack.report.gpus import json as gpus_json
from gpustack.report.gpus import metrics as gpu_metrics
from gpustack.report.gpus import text as gpus
from gpustack.report.profile import comparison as comparisons
from gpustack.report.profile import json as analyses_json
from gpustack.report.profile import text as analyses
from gpustack.report.proof import delivery
from gpustack.report.proof import json as proof_json
from gpustack.report.proof import junit as proof_junit
from gpustack.report.proof import text as proof
from gpustack.report.removal import json as removal_json
from gpustack.report.removal import text as removal
from gpustack.report.terminal import Terminal
from gpustack.rollout.plan import Verification
from tests.worlds import (
    burns,
    demand,
    diagnoses,
    engine_results,
    fixes,
    gpu_series,
    plans,
    proofs,
    reports,
    resets,
    scaled,
    workloads,
)
from tests.worlds.errors import ERRORS
from tests.worlds.screen import printed

GOLDEN = Path(__file__).parents[2] / "golden"


def without_counts(draw: Callable[[Terminal], None]) -> str:
    """A reset asks every probe of what gpustack owns: another one changes no golden."""
    return re.sub(r"\b\d+ facts", "N facts", printed(draw))


ARRIVED = Arrival("critical-pagerduty", "pagerduty", "delivered")
SENT = Deliveries(
    (
        Delivery("critical", "delivered", "", (ARRIVED, Arrival("critical-slack", "slack", "delivered")), 1.12),
        Delivery("warning", "delivered", "", (Arrival("default-webhook", "webhook", "delivered"),), 1.3),
    ),
    ("info",),
)
LOST = Arrival("critical-slack", "slack", "failed", "it failed (HTTP 5xx)")
REFUSED = Deliveries(
    (
        Delivery("critical", "failed", "", (ARRIVED, LOST), 11.2, "gone; it ends by itself"),
        Delivery("warning", "unknown", "Alertmanager did not show the alert within 60 s", seconds=60.4),
    )
)


def verified(plan: str) -> Verification:
    found = getattr(plans, plan)()
    return Verification(found, 0.64, len(found.snapshot.answers))


RENDERINGS: dict[str, Callable[[], str]] = {
    "plan-bare.txt": lambda: printed(lambda out: human.plan(out, plans.bare())),
    "plan-bare-verbose.txt": lambda: printed(lambda out: human.plan(out, plans.bare(), verbose=True)),
    "plan-bare.json": lambda: json.plan(plans.bare()),
    "plan-bare.xml": lambda: junit.plan(plans.bare()),
    "plan-converged.txt": lambda: printed(lambda out: human.plan(out, plans.converged())),
    "plan-converged-verbose.txt": lambda: printed(lambda out: human.plan(out, plans.converged(), verbose=True)),
    "plan-wide.txt": lambda: printed(lambda out: human.plan(out, plans.wide())),
    "verify-converged.txt": lambda: printed(lambda out: human.verification(out, verified("converged"))),
    "verify-converged.json": lambda: json.verification(verified("converged")),
    "verify-bare.txt": lambda: printed(lambda out: human.verification(out, verified("bare"))),
    "install-good.txt": lambda: printed(lambda out: human.outcome(out, plans.installed())),
    "install-good.json": lambda: json.outcome(plans.installed()),
    "install-failed.txt": lambda: printed(lambda out: human.outcome(out, plans.failed(), evidence="runs/1")),
    "install-failed.json": lambda: json.outcome(plans.failed(), evidence="runs/1"),
    "install-failed.xml": lambda: junit.outcome(plans.failed()),
    "install-interrupted.txt": lambda: printed(
        lambda out: human.outcome(out, replace(plans.failed(), played=(), stopped="interrupted"))
    ),
    "reset-shown.txt": lambda: without_counts(lambda out: removal.removal(out, resets.shown())),
    "reset-nothing.txt": lambda: without_counts(lambda out: removal.nothing(out, resets.nothing())),
    "reset-good.txt": lambda: without_counts(lambda out: removal.outcome(out, resets.good(), "runs/1")),
    "reset-left.txt": lambda: without_counts(lambda out: removal.outcome(out, resets.left(), "runs/1")),
    "reset-left.json": lambda: removal_json.text(resets.left(), "runs/1"),
    "prove-good.txt": lambda: printed(lambda out: proof.proof(out, proofs.good(), proofs.INVENTORY)),
    "prove-good.json": lambda: proof_json.text(proofs.good(), proofs.INVENTORY),
    "prove-mixed.txt": lambda: printed(lambda out: proof.proof(out, proofs.mixed(), proofs.INVENTORY, "runs/1")),
    "prove-mixed.json": lambda: proof_json.text(proofs.mixed(), proofs.INVENTORY, "runs/1"),
    "prove-mixed.xml": lambda: proof_junit.text(proofs.mixed(), proofs.INVENTORY),
    "prove-none.txt": lambda: printed(lambda out: proof.proof(out, proofs.none(), proofs.INVENTORY)),
    "prove-interrupted.txt": lambda: printed(
        lambda out: proof.proof(out, proofs.interrupted(), proofs.INVENTORY, "runs/1")
    ),
    "alert-test-good.txt": lambda: printed(lambda out: delivery.deliveries(out, SENT, proofs.INVENTORY)),
    "alert-test-failed.txt": lambda: printed(lambda out: delivery.deliveries(out, REFUSED, proofs.INVENTORY)),
    "alert-test-failed.json": lambda: delivery.text(REFUSED, proofs.INVENTORY),
    "doctor-healthy.txt": lambda: printed(lambda out: doctor.diagnosis(out, diagnoses.healthy())),
    "doctor-ufw.txt": lambda: printed(lambda out: doctor.diagnosis(out, diagnoses.ufw())),
    "doctor-ufw-verbose.txt": lambda: printed(lambda out: doctor.diagnosis(out, diagnoses.ufw(), verbose=True)),
    "doctor-ufw.json": lambda: doctor_json.text(diagnoses.ufw()),
    "doctor-ufw.xml": lambda: doctor_junit.text(diagnoses.ufw()),
    "doctor-unexplained.txt": lambda: printed(lambda out: doctor.diagnosis(out, diagnoses.unexplained())),
    "doctor-unexplained.xml": lambda: doctor_junit.text(diagnoses.unexplained()),
    "doctor-together.txt": lambda: printed(lambda out: doctor.diagnosis(out, diagnoses.together())),
    "capacity.txt": lambda: printed(lambda out: capacity.capacity(out, reports.capacity())),
    "capacity.json": lambda: capacity_json.text(reports.capacity()),
    "capacity.csv": lambda: capacity_json.table(reports.capacity()),
    "cost.txt": lambda: printed(lambda out: cost.bill(out, reports.bill())),
    "cost.json": lambda: cost_json.text(reports.bill()),
    "cost.csv": lambda: cost_json.table(reports.bill()),
    "fix-offer.txt": lambda: printed(
        lambda out: fix.offer(out, fixes.offer(fixes.before()), fixes.DIFFERENCES, fixes.INVENTORY)
    ),
    "fix-good.txt": lambda: printed(lambda out: fix.fixed(out, fixes.good(), evidence="runs/1")),
    "fix-good.json": lambda: fix_json.text(fixes.good(), "runs/1"),
    "fix-mixed.txt": lambda: printed(lambda out: fix.fixed(out, fixes.mixed(), evidence="runs/1")),
    "fix-mixed.json": lambda: fix_json.text(fixes.mixed(), "runs/1"),
    "undo-shown.txt": lambda: printed(lambda out: fix.last_fix(out, fixes.last(), fixes.INVENTORY)),
    "undo-good.txt": lambda: printed(lambda out: fix.undone(out, fixes.undone(), fixes.INVENTORY, evidence="runs/1")),
    "undo-good.json": lambda: fix_json.undone(fixes.undone(), fixes.INVENTORY, "runs/1"),
    "gpu-list.txt": lambda: printed(lambda out: gpus.fleet(out, gpu_series.mixed())),
    "gpu-list.json": lambda: gpus_json.fleet(gpu_series.mixed()),
    "gpu-list.csv": lambda: gpus_json.table(gpu_series.mixed()),
    "profile-analysis.txt": lambda: printed(lambda out: analyses.analysis(out, workloads.analyzed())),
    "profile-analysis.json": lambda: analyses_json.text(workloads.analyzed()),
    "profile-comparison.txt": lambda: printed(lambda out: comparisons.comparison(out, *workloads.compared())),
    "profile-comparison.json": lambda: comparisons.text(*workloads.compared()),
    "autoscale.txt": lambda: printed(lambda out: suggestions.draft(out, scaled.draft())),
    "autoscale.json": lambda: suggestions_json.text(scaled.draft()),
    "forecast.txt": lambda: printed(lambda out: forecasts.forecast(out, demand.forecasted())),
    "forecast.json": lambda: forecasts_json.text(demand.forecasted()),
    "gpu-engines.txt": lambda: printed(lambda out: gpu_engines.listing(out, engine_results.POLICIES)),
    "gpu-engines.json": lambda: gpu_engines.text(engine_results.POLICIES),
    "gpu-change-shown.txt": lambda: printed(lambda out: gpu_change.preview(out, engine_results.PREVIEW)),
    "gpu-change.txt": lambda: printed(lambda out: gpu_change.changed(out, engine_results.CHANGED, evidence="/runs/1")),
    "gpu-change.json": lambda: gpu_change.text(engine_results.CHANGED, evidence="/runs/1"),
    "gpu-diag.txt": lambda: printed(lambda out: gpu_diagnostic.diagnostic(out, engine_results.DIAGNOSTIC)),
    "gpu-diag.json": lambda: gpu_diagnostic.text(engine_results.DIAGNOSTIC),
    "gpu-diag.xml": lambda: gpu_diagnostic.cases(engine_results.DIAGNOSTIC),
    "gpu-burn.txt": lambda: printed(lambda out: gpu_burn.burn(out, burns.MIXED, evidence="/runs/1")),
    "gpu-burn.json": lambda: gpu_burn.text(burns.MIXED, evidence="/runs/1"),
    "gpu-burn-passed.txt": lambda: printed(lambda out: gpu_burn.burn(out, burns.FINE)),
    "gpu-exporter.txt": lambda: printed(lambda out: gpu_contract.contract(out, gpu_series.CONTRACT)),
    "gpu-exporter.json": lambda: gpu_contract.text(gpu_series.CONTRACT),
    "gpu-exporter.xml": lambda: gpu_contract.cases(gpu_series.CONTRACT),
    "gpu-metrics.txt": lambda: printed(lambda out: gpu_metrics.metrics(out, gpu_series.metrics())),
    "gpu-metrics.json": lambda: gpu_metrics.text(gpu_series.metrics()),
    "gpu-top.txt": lambda: printed(lambda out: gpu_activity.activity(out, gpu_series.working())),
    "gpu-top-pods.txt": lambda: printed(lambda out: gpu_activity.activity(out, gpu_series.working(), pods=True)),
    "gpu-top.json": lambda: gpu_activity.text(gpu_series.working()),
    **{f"error-{error.reference}.txt": lambda error=error: render(error) for error in ERRORS},  # type: ignore[misc]
}


@pytest.mark.parametrize("name", RENDERINGS)
def test_rendering(name: str) -> None:
    text, path = RENDERINGS[name](), GOLDEN / name
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", RENDERINGS)
def test_nothing_secret_and_no_escape_is_shown(name: str) -> None:
    text = RENDERINGS[name]()
    assert plans.PASSWORD not in text
    assert "\x1b" not in text


def test_columns_of_zero_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """rich would print nothing."""
    file = io.StringIO()
    monkeypatch.setenv("COLUMNS", "0")
    Terminal(file).print("a result")
    assert file.getvalue() == "a result\n"


def test_every_file_belongs_to_a_rendering() -> None:
    assert sorted(path.name for path in GOLDEN.iterdir()) == sorted(RENDERINGS)


@pytest.mark.parametrize(
    "name", [name for name in RENDERINGS if name.endswith(".txt") and not name.startswith("error")]
)
def test_80_columns_are_enough_but_for_commands(name: str) -> None:
    typed = ("query: ", "next: ", "ansible-playbook ", "give the host ", "kubectl ", "diff ")
    lines = RENDERINGS[name]().splitlines()
    wide = [line for line in lines if len(line) > 80 and not line.strip().startswith(typed)]
    assert wide == []
