"""A diagnosis as one JSON document, with the shape of gpustack/report/doctor/shape.py."""

from typing import Any

from gpustack.ask.judge import Outcome
from gpustack.command import Command
from gpustack.doctor.finding import Diagnosis, Finding, UnexplainedSymptom
from gpustack.doctor.graph import load_graph
from gpustack.doctor.states.state import AbnormalState
from gpustack.report.doctor.first_action import find_first_action
from gpustack.report.doctor.format import choose_remediation
from gpustack.report.doctor.shape import DoctorDocument
from gpustack.report.doctor.states import build_explain_command
from gpustack.report.document import render_result
from gpustack.report.json import drop_evidence, select_snapshot
from gpustack.report.renderings import DIAGNOSIS

BRIEF_FIELDS = ("suspects", "ruled_out", "impact", "caused_faults", "uncertain")


def render_json(diagnosis: Diagnosis, *, verbose: bool = False) -> str:
    outcomes: tuple[Outcome, ...] = ("failed", "unknown", *(("ok",) if verbose else ()))
    judgements = [judgement for judgement in diagnosis.reported_judgements if judgement.outcome in outcomes]
    action = find_first_action(diagnosis)
    return render_result(
        DIAGNOSIS,
        DoctorDocument,
        diagnosis,
        diagnosis.snapshot.inventory,
        **select_snapshot(diagnosis.snapshot),
        next=action.command if action else None,
        roots=[build_root(finding, verbose=verbose) for finding in diagnosis.roots],
        unexplained_symptoms=[select_fields(symptom, verbose=verbose) for symptom in diagnosis.unexplained_symptoms],
        abnormal_states=[build_state(state, verbose=verbose) for state in diagnosis.abnormal_states],
        harmless_judgements=drop_evidence(diagnosis.verdict.notes),
        judgements=judgements if verbose else drop_evidence(judgements),
    )


def build_root(finding: Finding, *, verbose: bool) -> dict[str, Any]:
    fault = load_graph().faults[finding.id]
    return {
        **select_fields(finding, verbose=verbose),
        "layer": fault.layer,
        "cause": fault.cause,
        "fix": {
            "remediation": choose_remediation(finding),
            "reason": finding.commands.caution or fault.reason,
            "do": fault.fix.do if finding.has_remedy else "",
            "commands": finding.commands.repairs,
            "repair_step": fault.remedy and fault.remedy.step,
        },
        "explain": Command("gpustack", "explain", finding.id),
    }


def build_state(state: AbnormalState, *, verbose: bool) -> dict[str, Any]:
    return {
        **vars(state),
        "times": state.count or None,
        "explain": build_explain_command(state),
        "evidence": state.evidence if verbose else (),
    }


def select_fields(finding: Finding | UnexplainedSymptom, *, verbose: bool) -> dict[str, Any]:
    """Select the fields of a finding. Without `verbose`, only confirmed judgements keep their evidence."""
    values = {**vars(finding), "locations": finding.locations}
    if verbose:
        return values
    return values | {name: drop_evidence(values[name]) for name in BRIEF_FIELDS if name in values}
