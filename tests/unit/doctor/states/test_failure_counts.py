"""Programs that count what they fail to do, as Prometheus scraped their counters."""

from dataclasses import replace

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.finding import Diagnosis
from gpustack.probes.monitoring.failure_counters import COUNTERS, render_expression
from tests.unit.doctor.states.objects import build_healthy, list_states, render
from tests.worlds.snapshots.answers import read_case

PROBE = "failures.counters"


def diagnose_case(case: str) -> Diagnosis:
    healthy = build_healthy()
    answer = replace(read_case(PROBE, case), location=CLUSTER)
    return diagnose(replace(healthy, answers={**healthy.answers, (PROBE, CLUSTER): answer}))


@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (
            "monitoring-prometheus 10.244.1.9:9090",
            (
                "3412 samples that a remote write has lost (a6e36d) within 5 minutes: "
                "prometheus_remote_storage_samples_failed_total"
            ),
        ),
        (
            "kube-proxy 10.77.0.12:10249",
            "61 requests to the API server that were refused (403) within 5 minutes: rest_client_requests_total",
        ),
        (
            "node-exporter 10.77.0.12:9100",
            "9 times that a link lost its carrier (eth1) within 15 minutes: node_network_carrier_down_changes_total",
        ),
    ],
    ids=["remote-write", "refused-requests", "flapping-link"],
)
def test_a_counter_of_failures_that_has_risen_is_a_risk(subject: str, words: str) -> None:
    diagnosis = diagnose_case("rising")
    state = next(state for state in list_states(diagnosis, "failures-counted") if state.subjects == (subject,))
    assert (state.severity, state.message) == ("risk", words)
    assert words.rpartition(": ")[2] in render(diagnosis)
    assert diagnosis.exit_status == 0


def test_a_client_whose_token_the_api_server_refuses_is_a_risk() -> None:
    states = list_states(diagnose_case("tokens-refused"), "failures-counted")
    assert "22 requests to the API server that were refused (401) within 5 minutes: rest_client_requests_total" in [
        state.message for state in states
    ]


def test_counters_that_stand_still_are_no_state() -> None:
    assert list_states(diagnose_case("usual"), "failures-counted") == []


def test_each_counter_is_told_apart_by_its_labels_and_names_itself() -> None:
    for counter in COUNTERS:
        expression = render_expression(counter)
        assert f'"counter", "{counter.name}"' in expression
        assert all(f'"{label}"' in expression for label in counter.labels)
