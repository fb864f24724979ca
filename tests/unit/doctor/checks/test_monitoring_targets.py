"""Between the exporter's Service and Prometheus: each link that can be wrong, and that no other one is blamed."""

import pytest

from gpustack.ask.probe import CLUSTER
from tests.worlds import gpus
from tests.worlds.doctor_checks import asked, in_cluster, told

REJECTED = "mon-operator-rejected-object"
CHAIN = ("mon-servicemonitor-disabled", "mon-servicemonitor-label-mismatch", "mon-servicemonitor-port-name")


@pytest.mark.parametrize(
    ("case", "guilty", "found"),
    [
        ("two-hosts", "", ""),
        ("none", "mon-servicemonitor-disabled", "nothing"),
        ("wrong-label", "mon-servicemonitor-label-mismatch",
         ("nvidia-dcgm-exporter wants app.kubernetes.io/name=dcgm-exporter in gpu-operator; "
         "gpu-operator/nvidia-dcgm-exporter is not that")),
        ("elsewhere", "mon-servicemonitor-label-mismatch",
         "dcgm wants app=nvidia-dcgm-exporter in monitoring; gpu-operator/nvidia-dcgm-exporter is not that"),
        ("wrong-port", "mon-servicemonitor-port-name", "metrics"),
        ("no-such-kind", "", ""),
    ],
)  # fmt: skip
def test_one_link_is_wrong(case: str, guilty: str, found: str) -> None:
    values = {"service_monitors__objects": case, "dcgm__monitors": "none" if guilty else "two-hosts"}
    answers = {id: told(in_cluster(id, **values)) for id in CHAIN}
    assert {id: text for id, (outcome, text) in answers.items() if outcome == "failed"} == (
        {guilty: found} if guilty else {}
    )
    assert {outcome for outcome, _ in answers.values()} <= {"failed", "ok"}


@pytest.mark.parametrize("id", CHAIN)
def test_without_an_exporter_nothing_is_missing(id: str) -> None:
    services = gpus.edited("proof.services", lambda items: items.clear())
    assert told(asked(id, gpus.world(services), CLUSTER)) == ("ok", "there is no exporter")


@pytest.mark.parametrize("id", CHAIN)
def test_an_answer_that_is_missing_tells_nothing(id: str) -> None:
    assert in_cluster(id, service_monitors__objects="refused").outcome == "unknown"


@pytest.mark.parametrize(
    ("case", "outcome", "found"),
    [
        ("two-hosts", "ok", "all it needs"),
        ("slices-only", "ok", "all it needs"),
        ("none", "ok", "no Prometheus"),
        ("not-bound", "failed",
         ("not endpoints in gpu-operator, endpoints in monitoring, pods in gpu-operator, pods in monitoring, "
         "services in gpu-operator, services in monitoring")),
    ],
)  # fmt: skip
def test_rights_of_prometheus_are_those_that_the_api_says(case: str, outcome: str, found: str) -> None:
    assert told(in_cluster("mon-prometheus-rbac", monitoring__rights=case)) == (outcome, found)


@pytest.mark.parametrize("case", ["late", "refused", "no-admin"])
def test_rights_without_an_answer_are_unknown(case: str) -> None:
    assert in_cluster("mon-prometheus-rbac", monitoring__rights=case).outcome == "unknown"


def test_objects_that_the_operator_left_out() -> None:
    assert told(in_cluster(REJECTED)) == ("ok", "nothing")
    outcome, found = told(in_cluster(REJECTED, scrape__rejected_objects="one", scrape__rejection_events="ours"))
    assert outcome == "failed"
    assert found.startswith('ServiceMonitor monitoring/shop: "monitoring/shop" was rejected')


@pytest.mark.parametrize(
    ("count", "events", "outcome", "words"),
    [
        ("one", "of-a-user", "ok", "nothing of ours; shop/shop"),
        ("two", "both", "failed", "ServiceMonitor monitoring/own: "),
        ("one", "both", "unknown", "ServiceMonitor of ours were left out, and may be still"),
        ("one", "none", "unknown", "1 ServiceMonitor are left out, and no event says which"),
        ("two", "of-a-user", "unknown", "1 ServiceMonitor are left out, and no event says which"),
        ("two-hosts", "ours", "ok", "nothing"),
    ],
)
def test_a_users_own_object_that_the_operator_left_out_is_no_fault(
    count: str, events: str, outcome: str, words: str
) -> None:
    found = told(in_cluster(REJECTED, scrape__rejected_objects=count, scrape__rejection_events=events))
    assert (found[0], found[1][: len(words)]) == (outcome, words)
