"""Silences of Alertmanager, as its API tells of them."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Diagnosis
from tests.unit.doctor.states.objects import build_healthy, list_states, render
from tests.worlds.snapshots.answers import read_case

KIND = "alerts-silenced"
SILENCES, ALERTS = "alerting.silences", "alerting.silenced"


def diagnose_silences(case: str, alerts: list[Any], *edits: tuple[str, str]) -> Diagnosis:
    healthy = build_healthy()
    silences = replace(read_case(SILENCES, case, *edits), location=CLUSTER)
    answers = {(SILENCES, CLUSTER): silences, (ALERTS, CLUSTER): Answer(ALERTS, CLUSTER, 0, json.dumps(alerts))}
    return diagnose(replace(healthy, answers={**healthy.answers, **answers}))


def make_alert(severity: str) -> dict[str, Any]:
    """constructed from prometheus/alertmanager api/v2/openapi.yaml, gettableAlert"""
    (silence,) = json.loads(read_case(SILENCES, "everything").stdout)
    labels = {"alertname": "GpuLost", "severity": severity}
    return {"labels": labels, "status": {"silencedBy": [silence["id"]]}}


def test_a_silence_of_every_alert_is_a_risk_with_its_author_and_end() -> None:
    diagnosis = diagnose_silences("everything", [])
    (state,) = list_states(diagnosis, KIND)
    assert state.severity == "risk"
    assert state.message == "anna silenced every alert until 2027-06-01 00:00 UTC: maintenance of rack 4"
    assert "maintenance of rack 4" in render(diagnosis)


@pytest.mark.parametrize(("severity", "count"), [("critical", 1), ("none", 0)])
def test_a_narrow_silence_is_a_note_while_it_holds_an_alert_back(severity: str, count: int) -> None:
    edit = ('"value": ".+"', '"value": "Gpu.*"')
    states = list_states(diagnose_silences("everything", [make_alert(severity)], edit), KIND)
    assert [state.severity for state in states] == ["note"] * count
    assert all('alerts with alertname=~"Gpu.*"' in state.message for state in states)
    assert all("now GpuLost: maintenance of rack 4" in state.message for state in states)


def test_a_silence_that_ended_is_no_state() -> None:
    edit = ('"state": "active"', '"state": "expired"')
    assert list_states(diagnose_silences("everything", [make_alert("critical")], edit), KIND) == []
