"""Reports are compared as text with tests/golden. `GOLDEN=write pytest tests/unit/report` writes them anew; the
difference is then to be read in git."""

import io
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.proof.delivery import Arrival, Deliveries, Delivery
from gpustack.proof.message import WEBHOOK, Message
from gpustack.report import error_document, human, json, junit
from gpustack.report.autoscale import json as suggestions_json
from gpustack.report.autoscale import text as suggestions
from gpustack.report.capacity import json as capacity_json
from gpustack.report.capacity import text as capacity
from gpustack.report.cost import json as cost_json
from gpustack.report.cost import text as cost
from gpustack.report.doctor import json as doctor_json
from gpustack.report.doctor import junit as doctor_junit
from gpustack.report.doctor import text as doctor
from gpustack.report.error import render_error
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
from gpustack.report.health import json as gpu_health_json
from gpustack.report.health import text as gpu_health
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
from gpustack.rollout.plan import Plan, Verification
from tests.unit.report import drains, engine_results, fixes, program_versions, remediations, statuses, valid_inventories
from tests.unit.report.errors import ERRORS
from tests.unit.report.screen import print_screen
from tests.worlds.prometheus import demand, gpu_series, workloads
from tests.worlds.results import burns, diagnoses, plans, proofs, resets, scaled_workloads, usage_reports

GOLDEN_FOLDER = Path(__file__).parents[2] / "golden"


def strip_counts(draw: Callable[[Terminal], None]) -> str:
    """Strip counts: a reset asks every probe of what gpustack owns, and another one changes no golden."""
    return re.sub(r"\b\d+ facts", "N facts", print_screen(draw))


SHOWN_TEXT = (
    "[FIRING:1] critical GpustackTest, cluster demo\n1 firing\n\nGpustackTest, critical\nImpact: none: this is a test"
)
ARRIVAL = Arrival("critical-pagerduty", "pagerduty", "delivered", message=Message(SHOWN_TEXT))
DELIVERIES = Deliveries(
    (
        Delivery("critical", "delivered", "", (ARRIVAL, Arrival("critical-slack", "slack", "delivered")), 1.12),
        Delivery(
            "warning",
            "delivered",
            "",
            (Arrival("default-webhook", "webhook", "delivered", message=Message(reason=WEBHOOK)),),
            1.3,
        ),
    ),
    ("info",),
)
LOST_ARRIVAL = Arrival("critical-slack", "slack", "failed", "it failed (HTTP 5xx)")
REFUSED_DELIVERIES = Deliveries(
    (
        Delivery("critical", "failed", "", (ARRIVAL, LOST_ARRIVAL), 11.2, "gone; it ends by itself"),
        Delivery("warning", "unknown", "Alertmanager did not show the alert within 60 s", seconds=60.4),
    )
)


def build_verification(plan: Plan) -> Verification:
    return Verification(plan, 0.64, len(plan.snapshot.answers))


RENDERINGS: dict[str, Callable[[], str]] = {
    "plan-bare.txt": lambda: print_screen(lambda screen: human.render_plan(screen, plans.make_bare_plan())),
    "plan-bare-verbose.txt": lambda: print_screen(
        lambda screen: human.render_plan(screen, plans.make_bare_plan(), verbose=True)
    ),
    "plan-bare.json": lambda: json.render_plan(plans.make_bare_plan()),
    "plan-bare.xml": lambda: junit.render_plan(plans.make_bare_plan()),
    "plan-converged.txt": lambda: print_screen(lambda screen: human.render_plan(screen, plans.make_converged_plan())),
    "plan-converged-verbose.txt": lambda: print_screen(
        lambda screen: human.render_plan(screen, plans.make_converged_plan(), verbose=True)
    ),
    "plan-wide.txt": lambda: print_screen(lambda screen: human.render_plan(screen, plans.make_wide_plan())),
    "verify-converged.txt": lambda: print_screen(
        lambda screen: human.render_verification(screen, build_verification(plans.make_converged_plan()))
    ),
    "verify-converged.json": lambda: json.render_verification(build_verification(plans.make_converged_plan())),
    "verify-bare.txt": lambda: print_screen(
        lambda screen: human.render_verification(screen, build_verification(plans.make_bare_plan()))
    ),
    "install-good.txt": lambda: print_screen(
        lambda screen: human.render_outcome(screen, plans.make_installed_outcome())
    ),
    "install-good.json": lambda: json.render_outcome(plans.make_installed_outcome()),
    "install-failed.txt": lambda: print_screen(
        lambda screen: human.render_outcome(screen, plans.make_failed_outcome(), evidence="runs/1")
    ),
    "install-failed.json": lambda: json.render_outcome(plans.make_failed_outcome(), evidence="runs/1"),
    "install-failed.xml": lambda: junit.render_outcome(plans.make_failed_outcome()),
    "install-interrupted.txt": lambda: print_screen(
        lambda screen: human.render_outcome(
            screen, replace(plans.make_failed_outcome(), playbook_runs=(), stop_reason="interrupted")
        )
    ),
    "reset-shown.txt": lambda: strip_counts(lambda screen: removal.render_removal(screen, resets.make_preview())),
    "reset-nothing.txt": lambda: strip_counts(
        lambda screen: removal.print_empty_reset(screen, resets.make_empty_preview())
    ),
    "reset-good.txt": lambda: strip_counts(
        lambda screen: removal.render_outcome(screen, resets.make_good_reset(), "runs/1")
    ),
    "reset-left.txt": lambda: strip_counts(
        lambda screen: removal.render_outcome(screen, resets.make_partial_reset(), "runs/1")
    ),
    "reset-left.json": lambda: removal_json.render_json(resets.make_partial_reset(), "runs/1"),
    "prove-good.txt": lambda: print_screen(
        lambda screen: proof.render_human(screen, proofs.make_good_proof(), proofs.INVENTORY)
    ),
    "prove-good.json": lambda: proof_json.render_json(proofs.make_good_proof(), proofs.INVENTORY),
    "prove-mixed.txt": lambda: print_screen(
        lambda screen: proof.render_human(screen, proofs.make_mixed_proof(), proofs.INVENTORY, "runs/1")
    ),
    "prove-mixed.json": lambda: proof_json.render_json(proofs.make_mixed_proof(), proofs.INVENTORY, "runs/1"),
    "prove-mixed.xml": lambda: proof_junit.render_junit(proofs.make_mixed_proof(), proofs.INVENTORY),
    "prove-none.txt": lambda: print_screen(
        lambda screen: proof.render_human(screen, proofs.make_empty_proof(), proofs.INVENTORY)
    ),
    "prove-interrupted.txt": lambda: print_screen(
        lambda screen: proof.render_human(screen, proofs.make_interrupted_proof(), proofs.INVENTORY, "runs/1")
    ),
    "alert-test-good.txt": lambda: print_screen(
        lambda screen: delivery.render_human(screen, DELIVERIES, proofs.INVENTORY)
    ),
    "alert-test-failed.txt": lambda: print_screen(
        lambda screen: delivery.render_human(screen, REFUSED_DELIVERIES, proofs.INVENTORY)
    ),
    "alert-test-failed.json": lambda: delivery.render_json(REFUSED_DELIVERIES, proofs.INVENTORY),
    "doctor-healthy.txt": lambda: print_screen(
        lambda screen: doctor.render_human(screen, diagnoses.make_healthy_diagnosis())
    ),
    "doctor-ufw.txt": lambda: print_screen(lambda screen: doctor.render_human(screen, diagnoses.make_ufw_diagnosis())),
    "doctor-ufw-verbose.txt": lambda: print_screen(
        lambda screen: doctor.render_human(screen, diagnoses.make_ufw_diagnosis(), verbose=True)
    ),
    "doctor-ufw.json": lambda: doctor_json.render_json(diagnoses.make_ufw_diagnosis()),
    "doctor-ufw.xml": lambda: doctor_junit.render_junit(diagnoses.make_ufw_diagnosis()),
    "doctor-unexplained.txt": lambda: print_screen(
        lambda screen: doctor.render_human(screen, diagnoses.make_unexplained_diagnosis())
    ),
    "doctor-unexplained.xml": lambda: doctor_junit.render_junit(diagnoses.make_unexplained_diagnosis()),
    "doctor-together.txt": lambda: print_screen(
        lambda screen: doctor.render_human(screen, diagnoses.make_joint_diagnosis())
    ),
    "capacity.txt": lambda: print_screen(lambda screen: capacity.render_human(screen, usage_reports.make_capacity())),
    "capacity.json": lambda: capacity_json.render_json(usage_reports.make_capacity()),
    "capacity.csv": lambda: capacity_json.render_csv(usage_reports.make_capacity()),
    "cost.txt": lambda: print_screen(lambda screen: cost.render_human(screen, usage_reports.make_bill())),
    "cost.json": lambda: cost_json.render_json(usage_reports.make_bill()),
    "cost.csv": lambda: cost_json.render_csv(usage_reports.make_bill()),
    "fix-offer.txt": lambda: print_screen(
        lambda screen: fix.render_offer(
            screen, fixes.offer(fixes.diagnose_forwarding()), fixes.DIFFERENCES, fixes.INVENTORY
        )
    ),
    "fix-good.txt": lambda: print_screen(
        lambda screen: fix.render_fix(screen, fixes.make_good_fix(), evidence="runs/1")
    ),
    "fix-good.json": lambda: fix_json.render_json(fixes.make_good_fix(), "runs/1"),
    "fix-mixed.txt": lambda: print_screen(
        lambda screen: fix.render_fix(screen, fixes.make_mixed_fix(), evidence="runs/1")
    ),
    "fix-mixed.json": lambda: fix_json.render_json(fixes.make_mixed_fix(), "runs/1"),
    "undo-shown.txt": lambda: print_screen(
        lambda screen: fix.render_last_fix(screen, fixes.make_last_fix(), fixes.INVENTORY)
    ),
    "undo-good.txt": lambda: print_screen(
        lambda screen: fix.render_rollback(screen, fixes.make_rollback(), fixes.INVENTORY, evidence="runs/1")
    ),
    "undo-good.json": lambda: fix_json.render_rollback(fixes.make_rollback(), fixes.INVENTORY, "runs/1"),
    "gpu-list.txt": lambda: print_screen(lambda screen: gpus.render_human(screen, gpu_series.make_mixed_fleet())),
    "gpu-list.json": lambda: gpus_json.render_json(gpu_series.make_mixed_fleet()),
    "gpu-health.txt": lambda: print_screen(lambda page: gpu_health.render_human(page, gpu_series.make_mixed_health())),
    "gpu-health.json": lambda: gpu_health_json.render_json(gpu_series.make_mixed_health()),
    "gpu-list.csv": lambda: gpus_json.render_csv(gpu_series.make_mixed_fleet()),
    "profile-analysis.txt": lambda: print_screen(lambda screen: analyses.render_human(screen, workloads.analyze_run())),
    "profile-analysis.json": lambda: analyses_json.render_json(workloads.analyze_run()),
    "profile-comparison.txt": lambda: print_screen(
        lambda screen: comparisons.render_human(screen, *workloads.compare_runs())
    ),
    "profile-comparison.json": lambda: comparisons.render_json(*workloads.compare_runs()),
    "autoscale.txt": lambda: print_screen(
        lambda screen: suggestions.render_human(screen, scaled_workloads.build_draft())
    ),
    "autoscale.json": lambda: suggestions_json.render_json(scaled_workloads.build_draft()),
    "forecast.txt": lambda: print_screen(lambda screen: forecasts.render_human(screen, demand.forecast_pools())),
    "forecast.json": lambda: forecasts_json.render_json(demand.forecast_pools()),
    "gpu-engines.txt": lambda: print_screen(lambda screen: gpu_engines.render_human(screen, engine_results.POLICIES)),
    "gpu-engines.json": lambda: gpu_engines.render_json(engine_results.POLICIES),
    "gpu-change-shown.txt": lambda: print_screen(
        lambda screen: gpu_change.render_preview(screen, engine_results.PREVIEW)
    ),
    "gpu-change.txt": lambda: print_screen(
        lambda screen: gpu_change.render_human(screen, engine_results.CHANGE_RESULT, evidence="/runs/1")
    ),
    "gpu-change.json": lambda: gpu_change.render_json(engine_results.CHANGE_RESULT, evidence="/runs/1"),
    "gpu-diag.txt": lambda: print_screen(lambda screen: gpu_diagnostic.render_human(screen, engine_results.DIAGNOSTIC)),
    "gpu-diag.json": lambda: gpu_diagnostic.render_json(engine_results.DIAGNOSTIC),
    "gpu-diag.xml": lambda: gpu_diagnostic.render_junit(engine_results.DIAGNOSTIC),
    "gpu-burn.txt": lambda: print_screen(
        lambda screen: gpu_burn.render_human(screen, burns.MIXED_BURN, evidence="/runs/1")
    ),
    "gpu-burn.json": lambda: gpu_burn.render_json(burns.MIXED_BURN, evidence="/runs/1"),
    "gpu-burn-passed.txt": lambda: print_screen(lambda screen: gpu_burn.render_human(screen, burns.FINE)),
    "gpu-exporter.txt": lambda: print_screen(lambda screen: gpu_contract.render_human(screen, gpu_series.CONTRACT)),
    "gpu-exporter.json": lambda: gpu_contract.render_json(gpu_series.CONTRACT),
    "gpu-exporter.xml": lambda: gpu_contract.render_junit(gpu_series.CONTRACT),
    "gpu-metrics.txt": lambda: print_screen(lambda screen: gpu_metrics.render_human(screen, gpu_series.make_metrics())),
    "gpu-metrics.json": lambda: gpu_metrics.render_json(gpu_series.make_metrics()),
    "gpu-top.txt": lambda: print_screen(
        lambda screen: gpu_activity.render_human(screen, gpu_series.make_working_gpus())
    ),
    "gpu-top-pods.txt": lambda: print_screen(
        lambda screen: gpu_activity.render_human(screen, gpu_series.make_working_gpus(), pods=True)
    ),
    "gpu-top.json": lambda: gpu_activity.render_json(gpu_series.make_working_gpus()),
    **drains.RENDERINGS,
    **remediations.RENDERINGS,
    **(statuses.RENDERINGS | program_versions.RENDERINGS | valid_inventories.RENDERINGS),
    **{f"error-{error.reference}.txt": lambda error=error: render_error(error) for error in ERRORS},  # type: ignore[misc]
    "error.json": lambda: error_document.render_json(ERRORS[0]),
    "error.xml": lambda: error_document.render_junit(ERRORS[0], "gpustack plan"),
}


@pytest.mark.parametrize("name", RENDERINGS)
def test_each_rendering_is_as_its_golden_file(name: str) -> None:
    text, path = RENDERINGS[name](), GOLDEN_FOLDER / name
    if os.environ.get("GOLDEN") == "write":
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", RENDERINGS)
def test_nothing_secret_and_no_escape_is_shown(name: str) -> None:
    text = RENDERINGS[name]()
    assert plans.PASSWORD not in text
    assert "\x1b" not in text


def test_an_install_ends_with_what_is_true_of_hosts_that_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    sentence = "kube2: no ordinary pod gets its 2 allocatable GPUs: the node is cordoned"
    monkeypatch.setattr("gpustack.rollout.plan.list_warnings", lambda snapshot: (sentence,))
    assert sentence in RENDERINGS["install-good.txt"]()
    assert sentence in RENDERINGS["install-failed.txt"]()


def test_columns_of_zero_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """rich would print nothing."""
    file = io.StringIO()
    monkeypatch.setenv("COLUMNS", "0")
    Terminal(file).print("a result")
    assert file.getvalue() == "a result\n"


def test_every_file_belongs_to_a_rendering() -> None:
    assert sorted(path.name for path in GOLDEN_FOLDER.iterdir()) == sorted(RENDERINGS)


@pytest.mark.parametrize(
    "name", [name for name in RENDERINGS if name.endswith(".txt") and not name.startswith("error")]
)
def test_80_columns_are_enough_but_for_commands(name: str) -> None:
    line_starts = ("query: ", "next", "ansible-playbook ", "give the host ", "kubectl ", "journalctl ", "diff ")
    lines = RENDERINGS[name]().splitlines()
    wide = [line for line in lines if len(line) > 80 and not line.strip().startswith(line_starts)]
    assert wide == []
