"""The spec decides how long Prometheus keeps its data, its labels, and how it is reached."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.view import View
from gpustack.config.spec import Spec
from gpustack.probes.monitoring.workloads import SAMPLE_RATE
from gpustack.steps.chart_values import read_own_values
from gpustack.steps.monitoring.history import describe_short_history
from gpustack.steps.monitoring.values import (
    build_chart_values,
    compute_values,
    describe_lost_history,
    format_size_limit,
)
from tests.helm import render_chart
from tests.unit.config.specs import list_complaints
from tests.worlds.snapshots.answers import place_answers
from tests.worlds.snapshots.cluster import build_snapshot

SIMULATED_CHARTS = Path(__file__).parents[3] / "lab" / "gpustack_lab" / "simulated" / "charts"


def build_prometheus(**spec: Any) -> dict[str, Any]:
    values: dict[str, Any] = compute_values(Spec.model_validate(spec))["prometheus"]
    return values


def test_a_hundred_days_on_a_volume_are_the_default() -> None:
    spec = build_prometheus()["prometheusSpec"]
    claim = spec["storageSpec"]["volumeClaimTemplate"]["spec"]
    assert (spec["retention"], spec["retentionSize"]) == ("100d", "43520MB")
    assert claim["resources"] == {"requests": {"storage": "50Gi"}}
    assert spec["externalLabels"] == {"cluster": "gpustack"}


@pytest.mark.parametrize(
    ("size", "limit"), [("512Mi", "435MB"), ("1Gi", "870MB"), ("20Gi", "17408MB"), ("2Ti", "1782579MB")]
)
def test_the_data_never_fills_its_volume(size: str, limit: str) -> None:
    assert format_size_limit(Spec.model_validate({"monitoring": {"persistence": {"size": size}}})) == limit
    assert format_size_limit(Spec.model_validate({"monitoring": {"retention_size": "5GB"}})) == "5GB"


def test_external_labels_are_added_to_that_of_the_cluster() -> None:
    spec = {"cluster_name": "blue", "monitoring": {"external_labels": {"site": "a", "stage": "b"}}}
    assert build_prometheus(**spec)["prometheusSpec"]["externalLabels"] == {
        "cluster": "blue",
        "site": "a",
        "stage": "b",
    }
    for name in ("cluster", "prometheus", "prometheus_replica", "a-b", "1a", ""):
        (complaint,) = list_complaints({"monitoring": {"external_labels": {name: "x"}}})
        assert complaint.key == "gpustack.monitoring.external_labels"
        assert complaint.rule == (
            "names of letters, digits and _, other than cluster, prometheus, prometheus_replica, such as {site: lab1}"
        )


def test_prometheus_gets_a_node_port_of_its_own() -> None:
    assert "service" not in build_prometheus()
    values = build_prometheus(monitoring={"access": {"prometheus_node_port": 30900}})
    assert values["service"] == {"type": "NodePort", "nodePort": 30900}
    both_ports = {"type": "node-port", "node_port": 30300, "prometheus_node_port": 30300}
    (wrong,) = list_complaints({"monitoring": {"access": both_ports}})
    assert wrong.key == "gpustack.monitoring.access.prometheus_node_port"
    assert list_complaints({"monitoring": {"access": both_ports | {"type": "none"}}}) == []


def describe_loss(**monitoring: Any) -> str:
    return describe_lost_history(View(build_snapshot(spec={"monitoring": monitoring}), CLUSTER))


def test_what_is_lost_without_a_volume_is_named() -> None:
    assert describe_loss() == describe_loss(enabled=False, persistence={"enabled": False}) == ""
    loss = describe_loss(retention="10d", persistence={"enabled": False, "size": "10Gi"})
    assert loss.startswith("Prometheus keeps its data in its pod, 10d or 8704MB of it: lost whenever the pod restarts")


def build_with_values(values: dict[str, Any]) -> dict[str, Any]:
    return build_chart_values(replace(build_snapshot().inventory, values={"monitoring": values}))


def test_grafana_reads_config_maps_alone() -> None:
    values = build_with_values({})
    (role,) = values["extraManifests"]
    assert role["metadata"]["name"] == values["grafana"]["rbac"]["useExistingClusterRole"]
    assert role["rules"] == [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]
    assert {kind: values["grafana"]["sidecar"][kind]["resource"] for kind in ("dashboards", "datasources")} == {
        "dashboards": "configmap",
        "datasources": "configmap",
    }


def test_its_role_keeps_the_name_that_the_chart_gives() -> None:
    """The binding of an earlier release leads to it, and cannot be changed."""
    assert build_with_values({})["extraManifests"][0]["metadata"]["name"] == "monitoring-grafana-clusterrole"


@pytest.mark.parametrize("values", [[{"kind": "ConfigMap"}], {"a": {"kind": "ConfigMap"}}])
def test_objects_of_the_operator_s_values_stay_beside_it(values: Any) -> None:
    kinds = [item["kind"] for item in build_with_values({"extraManifests": values})["extraManifests"]]
    assert kinds == ["ConfigMap", "ClusterRole"]


def test_without_grafana_there_is_no_role() -> None:
    assert "extraManifests" not in build_with_values({"grafana": {"enabled": False}})


def test_kube_state_metrics_reads_no_secret() -> None:
    assert "secrets" in build_with_values({})["kube-state-metrics"]["collectorsExclude"]


def describe_history(rate: float | None, **monitoring: Any) -> str:
    text = json.dumps({"status": "success", "data": {"resultType": "vector", "result": [{"value": [1, str(rate)]}]}})
    answers = place_answers(CLUSTER, Answer(SAMPLE_RATE.id, CLUSTER, 0, text)) if rate else {}
    return describe_short_history(View(build_snapshot(answers, spec={"monitoring": monitoring}), CLUSTER))


@pytest.mark.parametrize(
    ("rate", "monitoring", "words"),
    [
        (1234.06, {}, ""),  # a cluster of two hosts without GPUs
        (4000.0, {}, "43520MB hold 66 days, not the 100d of monitoring.retention"),
        (4000.0, {}, "All of it needs 76Gi (monitoring.persistence.size)"),
        (4000.0, {"persistence": {"size": "76Gi"}}, ""),
        (4000.0, {"retention": "66d"}, ""),
        (4000.0, {"retention_size": "2TB"}, ""),
        (4000.0, {"enabled": False}, ""),
        (None, {}, ""),
    ],
)
def test_a_history_that_the_disk_ends_early_is_named(
    rate: float | None, monitoring: dict[str, Any], words: str
) -> None:
    sentence = describe_history(rate, **monitoring)
    assert words in sentence
    assert bool(words) == bool(sentence)


def test_node_exporter_reads_no_fibre_channel_and_hides_what_the_chart_hides() -> None:
    arguments = read_own_values("monitoring")["prometheus-node-exporter"]["extraArgs"]
    assert "--no-collector.fibrechannel" in arguments, "a scrape ends it where an adapter shows no statistics"
    chart = yaml.safe_load((SIMULATED_CHARTS / "kube-prometheus-stack" / "values.yaml").read_text())
    assert set(chart["prometheus-node-exporter"]["extraArgs"]) <= set(arguments), "a list replaces the chart's"


def render_grafana(folder: Path, **persistence: Any) -> dict[str, Any]:
    """Render Grafana's objects by kind, from the simulated chart with the values of the spec."""
    values = build_chart_values(build_snapshot({}, {"monitoring": {"persistence": persistence}}).inventory)
    path = folder / "values.yaml"
    path.write_text(yaml.safe_dump(values))
    objects = render_chart("monitoring", SIMULATED_CHARTS / "kube-prometheus-stack", "--values", path)
    return {item["kind"]: item for item in objects if item["metadata"]["name"] == "monitoring-grafana"}


def test_grafana_has_a_volume_only_where_the_spec_says_so(tmp_path: Path) -> None:
    assert "PersistentVolumeClaim" not in render_grafana(tmp_path)
    grafana = render_grafana(tmp_path, grafana=True, storage_class="fast")
    claim, pod = grafana["PersistentVolumeClaim"]["spec"], grafana["Deployment"]["spec"]["template"]["spec"]
    assert (claim["resources"]["requests"], claim["storageClassName"]) == ({"storage": "1Gi"}, "fast")
    assert {"name": "storage", "persistentVolumeClaim": {"claimName": "monitoring-grafana"}} in pod["volumes"]
    assert "initContainers" not in pod, "it would pull an image that is in no list of gpustack"


def test_two_pods_of_grafana_never_write_one_database(tmp_path: Path) -> None:
    strategy = render_grafana(tmp_path, grafana=True)["Deployment"]["spec"]["strategy"]
    assert strategy["rollingUpdate"] == {"maxSurge": 0, "maxUnavailable": 1}


def test_a_volume_of_grafana_alone_is_refused() -> None:
    (complaint,) = list_complaints({"monitoring": {"persistence": {"enabled": False, "grafana": True}}})
    assert "grafana: true with enabled: true" in str(complaint)
