"""Grafana: login, data source, dashboards and what these ask for."""

import json

import pytest

from gpustack.ask.probe import CLUSTER
from tests.unit.doctor.checks.evaluation import evaluate, judge_gpu_cluster, summarize
from tests.worlds.snapshots import cluster, gpus
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case

SOURCE = "mon-grafana-datasource-wrong"
PLUGIN = "mon-grafana-plugin-lost"
LOADED_DASHBOARD = "mon-grafana-dashboard-not-loaded"


@pytest.mark.parametrize(
    ("id", "cases", "outcome", "actual"),
    [
        ("mon-grafana-password-unknown", {"grafana__response": "refused"}, "failed", "HTTP 401"),
        ("mon-grafana-password-unknown", {"grafana__response": "worker"}, "ok", "no Grafana"),
        ("mon-grafana-password-unknown", {"grafana__response": "odd"}, "unknown", ""),
        (PLUGIN, {"grafana__response": "unregistered"}, "failed", "plugin.notRegistered"),
        (PLUGIN, {"grafana__response": "no-source"}, "ok", "registered"),
        (PLUGIN, {"grafana__response": "worker"}, "ok", "no Grafana"),
        (PLUGIN, {"grafana__response": "refused"}, "unknown", "refused the login: HTTP 401"),
        (SOURCE, {"grafana__data_sources": "two"}, "failed", "2"),
        (SOURCE, {"grafana__data_sources": "none"}, "failed", "0"),
        (LOADED_DASHBOARD, {"grafana__dashboards": "no-json"}, "failed",
         "invalid JSON: monitoring/gpustack-dashboard-gpu-health"),
        ("mon-dashboard-metric-name-wrong", {"grafana__dashboards": "wrong-names"}, "failed",
         "DCGM_FI_DEV_TENSOR_ACTIVE in mine"),
        ("mon-dashboard-metric-name-wrong", {"grafana__dashboards": "vanished"}, "ok", "known"),
        ("mon-dashboard-metric-name-wrong",
         {"grafana__dashboards": "wrong-names", "scrape__dcgm_names": "none"}, "ok", "known"),
        ("mon-dcgm-metrics-vanished-after-upgrade", {"grafana__dashboards": "vanished"}, "failed", "not exported"),
        ("mon-dashboard-label-renamed", {"grafana__dashboards": "wrong-names"}, "failed", "Hostname"),
        ("mon-dashboard-label-renamed", {"grafana__dashboards": "vanished"}, "ok", "hostname in the series"),
    ],
)  # fmt: skip
def test_faults_of_grafana_are_judged(id: str, cases: dict[str, str], outcome: str, actual: str) -> None:
    result = summarize(judge_gpu_cluster(id, CLUSTER, **cases))
    assert result[0] == outcome, result
    assert actual in result[1]


@pytest.mark.parametrize(
    ("address", "outcome"),
    [
        ("http://monitoring-prometheus.monitoring.svc.cluster.local:9090", "ok"),
        ("http://monitoring-prometheus:9090", "ok"),
        ("https://prometheus.example.com", "ok"),
        ("http://prometheus.monitoring:9090/", "failed"),
        ("http://monitoring-prometheus.monitoring:9191/", "failed"),
        ("http://prometheus:9090", "failed"),
    ],
)
def test_a_wrong_address_of_the_data_source_fails(address: str, outcome: str) -> None:
    edit = ("http://monitoring-prometheus.monitoring:9090/", address)
    sources = read_case("grafana.data-sources", "control-plane", edit)
    judgement = evaluate(SOURCE, gpus.build_snapshot({("grafana.data-sources", CLUSTER): sources}), CLUSTER)
    assert judgement.outcome == outcome, summarize(judgement)


@pytest.mark.parametrize("id", [LOADED_DASHBOARD, "mon-dashboard-metric-name-wrong", "mon-dashboard-label-renamed"])
def test_a_dashboard_in_a_namespace_of_its_owner_is_no_fault(id: str) -> None:
    case = "no-json" if id == LOADED_DASHBOARD else "wrong-names"
    answer = read_case("grafana.dashboards", case, ('"namespace": "monitoring"', '"namespace": "team"'))
    judgement = evaluate(id, gpus.build_snapshot({("grafana.dashboards", CLUSTER): answer}), CLUSTER)
    assert judgement.outcome == "ok", summarize(judgement)


def test_a_dashboard_of_ours_without_its_label_fails() -> None:
    answer = cluster.build_answers()["applied.config-maps", CLUSTER]
    body = json.loads(answer.stdout)
    for entry in body["items"]:
        if entry["metadata"]["name"] == "gpustack-dashboard-gpu-health":
            for field_set in entry["metadata"]["managedFields"]:
                field_set["fieldsV1"]["f:metadata"]["f:labels"].pop("f:grafana_dashboard")
    changed_maps = place_answers(CLUSTER, make_answer("applied.config-maps", json.dumps(body)))
    judgement = evaluate(LOADED_DASHBOARD, gpus.build_snapshot(changed_maps), CLUSTER)
    assert summarize(judgement) == ("failed", "without its label: monitoring/gpustack-dashboard-gpu-health")
    assert summarize(judge_gpu_cluster(LOADED_DASHBOARD)) == ("ok", "loaded")
