"""Requests for certificates that nobody approved, laid over the healthy cluster."""

import pytest

from tests.unit.doctor.states.objects import (
    diagnose_items,
    find_item,
    format_time,
    list_states,
    read_recorded_items,
    render,
)

PROBE = "api__certificate_requests"
KIND = "certificate-pending"


def test_requests_of_a_kubelet_that_nobody_approved_are_one_risk() -> None:
    diagnosis = diagnose_items(**{PROBE: read_recorded_items("api.certificate-requests", "pending")})
    own_state, foreign_state = list_states(diagnosis, KIND)
    assert (own_state.severity, own_state.subjects) == ("risk", ("certificate request of system:node:k2",))
    assert own_state.message == "nobody approved it (signer kubernetes.io/kubelet-serving, request csr-8p2mt)"
    assert (foreign_state.severity, foreign_state.next_command) == ("note", "kubectl describe csr 'Team A: web'")
    assert "Denied: not this name" in render(diagnosis)


@pytest.mark.parametrize(("minutes", "count"), [(0.5, 0), (2, 1)])
def test_a_young_request_is_no_state(minutes: int, count: int) -> None:
    (_, request, *_) = read_recorded_items("api.certificate-requests", "pending")
    request["metadata"]["creationTimestamp"] = format_time(minutes)
    assert len(list_states(diagnose_items(**{PROBE: [request]}), KIND)) == count


@pytest.mark.parametrize(("minutes", "count"), [(0.5, 0), (2, 1)])
def test_an_approved_request_that_no_signer_answers_is_a_risk_after_a_minute(minutes: float, count: int) -> None:
    request = find_item(read_recorded_items("api.certificate-requests", "unissued"), "anna")
    request["status"]["conditions"][0]["lastUpdateTime"] = format_time(minutes)
    states = list_states(diagnose_items(**{PROBE: [request]}), KIND)
    words = "it is approved, and the controller manager has not issued the certificate"
    assert [(state.severity, state.message.partition(" (")[0]) for state in states] == [("risk", words)] * count


def test_an_approved_request_is_no_state() -> None:
    assert list_states(diagnose_items(**{PROBE: read_recorded_items("api.certificate-requests", "usual")}), KIND) == []


@pytest.mark.parametrize(("minutes", "count"), [(2, 0), (6, 1)])
def test_a_request_that_a_person_approves_may_wait_for_longer(minutes: int, count: int) -> None:
    (_, request, *_) = read_recorded_items("api.certificate-requests", "pending")
    request["metadata"]["creationTimestamp"] = format_time(minutes)
    request["spec"]["signerName"] = "kubernetes.io/kube-apiserver-client"
    assert len(list_states(diagnose_items(**{PROBE: [request]}), KIND)) == count
