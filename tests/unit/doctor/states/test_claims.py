"""Claims that get no volume: the controller says why, and the scheduler does not."""

from typing import Any

import pytest

from tests.unit.doctor.states.objects import diagnose_items, format_time, list_states, read_recorded_items, render

KIND = "claim-unbound"


def diagnose_claim(minutes: float = 1, **fields: Any) -> Any:
    (claim,) = read_recorded_items("storage.unbound-claims", "released")
    claim["metadata"] |= fields
    events = read_recorded_items("warnings.claims", "released")
    for event in events:
        event["lastTimestamp"] = format_time(minutes)
    return diagnose_items(storage__unbound_claims=[claim], warnings__claims=events)


def test_a_claim_for_a_volume_of_another_one_is_a_note_with_the_words_of_the_controller() -> None:
    diagnosis = diagnose_claim()
    (state,) = list_states(diagnosis, KIND)
    assert (state.severity, state.subjects) == ("note", ("persistentvolumeclaim default/data",))
    assert state.message == 'FailedBinding: volume "old-dataset" already bound to a different claim.'
    assert "kubectl -n default describe pvc data" in render(diagnosis)


def test_a_warning_that_is_not_repeated_is_no_state() -> None:
    assert list_states(diagnose_claim(minutes=11), KIND) == []


def test_a_claim_that_waits_for_its_first_pod_is_no_state() -> None:
    assert list_states(diagnose_claim(name="scratch"), KIND) == []


@pytest.mark.parametrize(("namespace", "severity"), [("monitoring", "risk"), ("team", "note")])
def test_a_claim_that_lost_its_volume_is_reported(namespace: str, severity: str) -> None:
    (claim,) = read_recorded_items("storage.unbound-claims", "released")
    claim["metadata"]["namespace"], claim["status"]["phase"] = namespace, "Lost"
    (state,) = list_states(diagnose_items(storage__unbound_claims=[claim], warnings__claims=[]), KIND)
    assert (state.severity, state.message) == (severity, "its volume old-dataset is gone")
