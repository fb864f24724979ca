"""Rules that Prometheus cannot evaluate, and alerts that fire, as its HTTP API tells of them."""

from dataclasses import replace

from gpustack.ask.probe import CLUSTER
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Diagnosis
from tests.unit.doctor.states.objects import build_healthy, list_states, render
from tests.worlds.snapshots.answers import read_case


def diagnose_case(probe: str, case: str) -> Diagnosis:
    healthy = build_healthy()
    answer = replace(read_case(probe, case), location=CLUSTER)
    return diagnose(replace(healthy, answers={**healthy.answers, (probe, CLUSTER): answer}))


def test_a_rule_that_is_not_evaluated_is_a_risk_with_the_error_of_prometheus() -> None:
    diagnosis = diagnose_case("alerting.rules", "failing")
    (state,) = list_states(diagnosis, "rule-failing")
    assert state.severity == "risk"
    assert state.subjects[0].startswith("rule PersistentVolumeUsageNearFull of persistent-volume-alert.rules in rook-")
    assert state.message.startswith("found duplicate series for the match group")
    assert "many-to-many matching not allowed: matching labels must be unique on one side" in render(diagnosis)


def test_alerts_that_fire_are_one_note_in_their_own_words() -> None:
    diagnosis = diagnose_case("alerting.firing", "two")
    (state,) = list_states(diagnosis, "alerts-firing")
    assert (state.severity, state.message) == ("note", "2 alerts fire")
    assert [line.partition(":")[0] for line in state.last_lines] == [
        "KubePersistentVolumeFillingUp", "NodeClockNotSynchronising",
    ]  # fmt: skip
    assert "in Namespace monitoring is only 2.1% free." in render(diagnosis)


def test_an_alert_that_always_fires_is_no_state() -> None:
    assert list_states(diagnose_case("alerting.firing", "usual")) == []


def test_an_error_of_rules_in_several_groups_is_one_state() -> None:
    (state,) = list_states(diagnose_case("alerting.rules", "limited"), "rule-failing")
    assert state.message == "query processing would load too many samples into memory in query execution"
    assert len({subject.partition(" of ")[2] for subject in state.subjects}) == 3
