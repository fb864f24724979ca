"""API groups and webhooks without a server, as a real API server reports them."""

from typing import Any

import pytest

from gpustack.doctor.finding import Diagnosis
from tests.unit.doctor.states.objects import (
    diagnose_items,
    find_item,
    format_time,
    list_states,
    read_recorded_items,
    render,
)

NO_ENDPOINTS = (
    'endpointslices for service/keda-operator-metrics-apiserver in "keda" have no addresses with port name ""'
)
NO_SERVICE = 'service/metrics-server in "kube-system" is not present'
CHANGE_TIME = "endpoints.kubernetes.io/last-change-trigger-time"


def diagnose_webhooks(**items_by_probe: list[Any]) -> Diagnosis:
    items = {
        "admission__validating": read_recorded_items("admission.validating", "no-service"),
        "admission__mutating": read_recorded_items("admission.mutating", "no-pod"),
        "proof__services": read_recorded_items("proof.services", "no-pod"),
        "api_services__endpoints": read_recorded_items("api-services.endpoints", "no-pod"),
    }
    return diagnose_items(**(items | items_by_probe))


@pytest.mark.parametrize(("minutes_ago", "severity"), [(5, "broken"), (0.5, "risk")], ids=["down", "restarting"])
def test_an_api_group_without_a_server_has_the_words_of_the_api_server(minutes_ago: float, severity: str) -> None:
    items = read_recorded_items("api-services.unavailable", "no-server")
    for entry in items:
        entry["status"]["conditions"][0]["lastTransitionTime"] = format_time(minutes_ago)
    diagnosis = diagnose_items(api_services__unavailable=items)
    states = list_states(diagnosis, "api-unavailable")
    assert {(state.severity, state.message) for state in states} == {(severity, NO_ENDPOINTS), (severity, NO_SERVICE)}
    assert "kubectl describe apiservice v1beta1.metrics.k8s.io" in render(diagnosis)


def test_a_required_webhook_without_its_service_is_broken_and_another_a_risk() -> None:
    strict, lenient = list_states(diagnose_webhooks(), "webhook-unanswered")
    subject = "validatingwebhookconfiguration monitoring-admission, webhook prometheusrulemutate.monitoring.coreos.com"
    assert (strict.severity, strict.subjects) == ("broken", (subject,))
    assert strict.message == (
        "its Service monitoring/monitoring-operator does not exist, so that the API server refuses "
        "prometheusrules.monitoring.coreos.com"
    )
    assert (lenient.severity, lenient.message) == (
        "risk",
        "its Service shop/pods-webhook has no ready endpoint, so that the API server accepts pods without asking it",
    )


@pytest.mark.parametrize(
    ("ready", "minutes_ago", "severities"),
    [(True, 5, []), (False, 5, ["broken"]), (False, 0.5, ["risk"])],
    ids=["ready", "down", "restarting"],
)
def test_a_webhook_is_judged_by_the_endpoints_of_its_service(
    minutes_ago: float, severities: list[str], *, ready: bool
) -> None:
    slices = read_recorded_items("api-services.endpoints", "no-pod")
    entry = find_item(slices, "pods-webhook")
    entry["endpoints"] = [{"conditions": {"ready": ready}}]
    entry["metadata"]["annotations"] = {CHANGE_TIME: format_time(minutes_ago)}
    webhooks = read_recorded_items("admission.mutating", "no-pod")
    webhooks[0]["webhooks"][0]["failurePolicy"] = "Fail"
    diagnosis = diagnose_webhooks(
        admission__validating=[], admission__mutating=webhooks, api_services__endpoints=slices
    )
    assert [state.severity for state in list_states(diagnosis, "webhook-unanswered")] == severities


def test_more_endpoints_than_were_asked_for_leave_the_webhook_unknown() -> None:
    slices = read_recorded_items("api-services.endpoints", "no-pod")[:1] * 500
    diagnosis = diagnose_webhooks(api_services__endpoints=slices)
    assert list_states(diagnosis, "webhook-unanswered") == []
    reasons = {judgement.id: judgement.reason for judgement in diagnosis.unknown_observations}
    assert reasons["webhooks"] == "the cluster has 500 EndpointSlices or more"
