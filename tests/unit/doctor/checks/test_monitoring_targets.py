"""Between the exporter's Service and Prometheus: each link that can be wrong, and that no other one is blamed."""

import pytest

from gpustack.ask.probe import CLUSTER
from tests.unit.doctor.checks.evaluation import evaluate, judge_gpu_cluster, summarize
from tests.worlds.snapshots import gpus

REJECTED_OBJECT = "mon-operator-rejected-object"
CHAIN = ("mon-servicemonitor-disabled", "mon-servicemonitor-label-mismatch", "mon-servicemonitor-port-name")


@pytest.mark.parametrize(
    ("case", "guilty", "actual"),
    [
        ("two-hosts", "", ""),
        ("none", "mon-servicemonitor-disabled", "nothing"),
        ("wrong-label", "mon-servicemonitor-label-mismatch",
         ("nvidia-dcgm-exporter selects app.kubernetes.io/name=dcgm-exporter in gpu-operator, but not "
         "gpu-operator/nvidia-dcgm-exporter")),
        ("elsewhere", "mon-servicemonitor-label-mismatch",
         "dcgm selects app=nvidia-dcgm-exporter in monitoring, but not gpu-operator/nvidia-dcgm-exporter"),
        ("wrong-port", "mon-servicemonitor-port-name", "metrics"),
        ("no-such-kind", "", ""),
    ],
)  # fmt: skip
def test_the_wrong_link_alone_fails(case: str, guilty: str, actual: str) -> None:
    values = {"service_monitors__objects": case, "dcgm__monitors": "none" if guilty else "two-hosts"}
    answers = {id: summarize(judge_gpu_cluster(id, **values)) for id in CHAIN}
    assert {id: text for id, (outcome, text) in answers.items() if outcome == "failed"} == (
        {guilty: actual} if guilty else {}
    )
    assert {outcome for outcome, _ in answers.values()} <= {"failed", "ok"}


@pytest.mark.parametrize("id", CHAIN)
def test_without_an_exporter_nothing_is_missing(id: str) -> None:
    services = gpus.edit_answer("proof.services", lambda items: items.clear())
    assert summarize(evaluate(id, gpus.build_snapshot(services), CLUSTER)) == ("ok", "no exporter")


@pytest.mark.parametrize("id", CHAIN)
def test_an_answer_that_is_missing_tells_nothing(id: str) -> None:
    assert judge_gpu_cluster(id, service_monitors__objects="refused").outcome == "unknown"


@pytest.mark.parametrize(
    ("case", "outcome", "actual"),
    [
        ("two-hosts", "ok", "all required"),
        ("slices-only", "ok", "all required"),
        ("none", "ok", "no Prometheus"),
        ("not-bound", "failed",
         ("not endpoints in gpu-operator, endpoints in monitoring, pods in gpu-operator, pods in monitoring, "
         "services in gpu-operator, services in monitoring")),
    ],
)  # fmt: skip
def test_rights_of_prometheus_are_those_that_the_api_says(case: str, outcome: str, actual: str) -> None:
    assert summarize(judge_gpu_cluster("mon-prometheus-rbac", monitoring__rights=case)) == (outcome, actual)


@pytest.mark.parametrize("case", ["late", "refused", "no-admin"])
def test_rights_without_an_answer_are_unknown(case: str) -> None:
    assert judge_gpu_cluster("mon-prometheus-rbac", monitoring__rights=case).outcome == "unknown"


def test_objects_that_the_operator_rejected_fail() -> None:
    assert summarize(judge_gpu_cluster(REJECTED_OBJECT)) == ("ok", "none")
    outcome, actual = summarize(
        judge_gpu_cluster(REJECTED_OBJECT, scrape__rejected_objects="one", scrape__rejection_events="ours")
    )
    assert outcome == "failed"
    assert actual.startswith('ServiceMonitor monitoring/shop: "monitoring/shop" was rejected')


@pytest.mark.parametrize(
    ("count", "events", "outcome", "words"),
    [
        ("one", "of-a-user", "ok", "none of gpustack; shop/shop"),
        ("two", "both", "failed", "ServiceMonitor monitoring/own: "),
        ("one", "both", "unknown", "ServiceMonitor of gpustack were rejected, maybe still"),
        ("one", "none", "unknown", "1 ServiceMonitor were rejected, without an event that names them"),
        ("two", "of-a-user", "unknown", "1 ServiceMonitor were rejected, without an event that names them"),
        ("two-hosts", "ours", "ok", "none"),
    ],
)
def test_a_users_own_object_that_the_operator_left_out_is_no_fault(
    count: str, events: str, outcome: str, words: str
) -> None:
    summary = summarize(
        judge_gpu_cluster(REJECTED_OBJECT, scrape__rejected_objects=count, scrape__rejection_events=events)
    )
    assert (summary[0], summary[1][: len(words)]) == (outcome, words)
