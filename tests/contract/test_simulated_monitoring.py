"""The simulated kube-prometheus-stack: what other steps, checks and tests rely on in what it renders."""

import base64
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.helm import render_chart, run, run_helm

CHART = Path(__file__).parents[2] / "lab" / "gpustack_lab" / "simulated" / "charts" / "kube-prometheus-stack"
# The least that it needs: it has no webhooks.
LEAST_VALUES = {"prometheusOperator": {"admissionWebhooks": {"enabled": False}, "tls": {"enabled": False}}}
OPEN = [f"prometheus.prometheusSpec.{kind}SelectorNilUsesHelmValues=false" for kind in ("serviceMonitor", "rule")]
RELEASE = "fullnameOverride=monitoring"


@cache
def render_objects(*settings: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Render the objects of a release called monitoring, by kind and name, with a setting as --set takes it."""
    least_values = ["prometheusOperator.admissionWebhooks.enabled=false", "prometheusOperator.tls.enabled=false"]
    words = [word for setting in (*least_values, *settings) for word in ("--set", setting)]
    objects = render_chart("monitoring", CHART, "--namespace", "monitoring", *words)
    return {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in objects}


def test_lint_finds_nothing(tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(LEAST_VALUES))
    assert "0 chart(s) failed" in run_helm("lint", "--strict", CHART, "--values", values)


def test_objects_are_named_as_those_of_the_real_chart() -> None:
    objects = render_objects(RELEASE)
    for expected_object in (
        ("Prometheus", "monitoring-prometheus"),
        ("Alertmanager", "monitoring-alertmanager"),
        ("Deployment", "monitoring-operator"),
        ("Deployment", "monitoring-grafana"),
        ("Deployment", "monitoring-kube-state-metrics"),
        ("DaemonSet", "monitoring-prometheus-node-exporter"),
        ("Secret", "monitoring-grafana"),
        ("Secret", "alertmanager-monitoring-alertmanager"),
        ("ConfigMap", "monitoring-grafana-datasource"),
    ):
        assert expected_object in objects
    kube_system = {
        name for (kind, name), manifest in objects.items() if manifest["metadata"].get("namespace") == "kube-system"
    }
    parts = ("coredns", "kube-controller-manager", "kube-etcd", "kube-proxy", "kube-scheduler")
    assert kube_system == {f"monitoring-{part}" for part in parts}


def test_clean_names_are_those_of_the_custom_resources_alone() -> None:
    objects = render_objects(RELEASE, "cleanPrometheusOperatorObjectNames=true")
    assert ("Prometheus", "monitoring") in objects
    assert ("Alertmanager", "monitoring") in objects
    assert ("Secret", "alertmanager-monitoring") in objects
    service = objects["Service", "monitoring-prometheus"]
    assert service["spec"]["selector"]["operator.prometheus.io/name"] == "monitoring"


def test_by_default_only_this_release_is_taken() -> None:
    spec = render_objects(RELEASE)["Prometheus", "monitoring-prometheus"]["spec"]
    for kind in ("serviceMonitor", "podMonitor", "rule", "probe", "scrapeConfig"):
        assert spec[f"{kind}Selector"] == {"matchLabels": {"release": "monitoring"}}
        assert spec[f"{kind}NamespaceSelector"] == {}


def test_open_selectors_take_all() -> None:
    spec = render_objects(RELEASE, *OPEN)["Prometheus", "monitoring-prometheus"]["spec"]
    assert (spec["serviceMonitorSelector"], spec["ruleSelector"]) == ({}, {})
    assert spec["podMonitorSelector"] == {"matchLabels": {"release": "monitoring"}}


def test_every_service_monitor_finds_a_service_of_its_ports() -> None:
    objects = render_objects(RELEASE)
    services = [manifest for (kind, _), manifest in objects.items() if kind == "Service"]
    foreign_names = {"monitoring-apiserver", "monitoring-kubelet"}  # of Services that kubeadm and the operator make
    monitors = [
        manifest for (kind, name), manifest in objects.items() if kind == "ServiceMonitor" and name not in foreign_names
    ]
    assert len(monitors) == 11
    for monitor in monitors:
        selector = monitor["spec"]["selector"]["matchLabels"].items()
        (service,) = (service for service in services if selector <= service["metadata"]["labels"].items())
        ports = {port["name"] for port in service["spec"]["ports"]}
        assert {endpoint["port"] for endpoint in monitor["spec"]["endpoints"]} <= ports
        label = monitor["spec"].get("jobLabel")
        assert label in {None, "monitoring", *service["metadata"]["labels"]}


def test_every_selector_of_a_service_finds_pods_of_the_chart() -> None:
    objects = render_objects(RELEASE)
    kinds = ("Deployment", "DaemonSet")
    pods = [manifest["spec"]["template"] for (kind, _), manifest in objects.items() if kind in kinds]
    operator_pods = ("monitoring-prometheus", "monitoring-alertmanager")  # their pods are the operator's
    for (kind, name), manifest in objects.items():
        if kind == "Service" and manifest["metadata"]["namespace"] == "monitoring" and name not in operator_pods:
            selector = manifest["spec"]["selector"].items()
            (pod,) = (pod for pod in pods if selector <= pod["metadata"]["labels"].items())
            ports = {port["name"] for port in pod["spec"]["containers"][0]["ports"]}
            numbers = {port["containerPort"] for port in pod["spec"]["containers"][0]["ports"]}
            assert {port["targetPort"] for port in manifest["spec"]["ports"]} <= ports | numbers


@pytest.mark.parametrize(
    ("part", "switch", "alert"),
    [
        ("kube-scheduler", "kubeScheduler", "KubeSchedulerDown"),
        ("kube-controller-manager", "kubeControllerManager", "KubeControllerManagerDown"),
        ("kube-proxy", "kubeProxy", "KubeProxyDown"),
        ("kube-etcd", "kubeEtcd", "etcdInsufficientMembers"),
    ],
)
def test_a_part_that_is_switched_off_has_neither_target_nor_alert(part: str, switch: str, alert: str) -> None:
    assert alert in list_alerts(render_objects(RELEASE))
    assert ("ServiceMonitor", f"monitoring-{part}") in render_objects(RELEASE)
    objects_without = render_objects(RELEASE, f"{switch}.enabled=false")
    assert alert not in list_alerts(objects_without)
    assert not [name for _, name in objects_without if name == f"monitoring-{part}"]


def list_alerts(objects: dict[tuple[str, str], dict[str, Any]]) -> dict[str, dict[str, Any]]:
    groups = [
        group
        for (kind, _), manifest in objects.items()
        if kind == "PrometheusRule"
        for group in manifest["spec"]["groups"]
    ]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def test_alerts_can_be_disabled_and_hastened() -> None:
    alerts = list_alerts(
        render_objects(RELEASE, "defaultRules.disabled.Watchdog=true", "customRules.TargetDown.for=5s")
    )
    assert "Watchdog" not in alerts
    assert alerts["TargetDown"]["for"] == "5s"
    assert list_alerts(render_objects(RELEASE))["Watchdog"]["expr"] == "vector(1)"
    assert "for" not in list_alerts(render_objects(RELEASE))["Watchdog"]


def test_alertmanager_gets_its_configuration() -> None:
    secret = render_objects(RELEASE, "alertmanager.config.route.receiver=me")[
        "Secret", "alertmanager-monitoring-alertmanager"
    ]
    config = yaml.safe_load(base64.b64decode(secret["data"]["alertmanager.yaml"]))
    assert (config["route"]["receiver"], config["receivers"]) == ("me", [{"name": "null"}])
    templates = render_objects(RELEASE, r"alertmanager.templateFiles.a\.tmpl=text")
    data = templates["Secret", "alertmanager-monitoring-alertmanager"]["data"]
    assert base64.b64decode(data["a.tmpl"]) == b"text"
    assert ("Secret", "alertmanager-monitoring-alertmanager") not in render_objects(
        RELEASE, "alertmanager.alertmanagerSpec.useExistingSecret=true"
    )


def test_the_data_source_has_the_uid_that_dashboards_name() -> None:
    text = render_objects(RELEASE)["ConfigMap", "monitoring-grafana-datasource"]["data"]["datasource.yaml"]
    first = yaml.safe_load(text)["datasources"][0]
    assert (first["uid"], first["url"]) == ("prometheus", "http://monitoring-prometheus.monitoring:9090/")


def test_webhooks_are_refused_in_clear_words() -> None:
    process = run("template", "monitoring", CHART)
    assert process.returncode != 0
    assert (
        "Set prometheusOperator.admissionWebhooks.enabled and prometheusOperator.tls.enabled to false" in process.stderr
    )


def test_tls_without_webhooks_waits_for_a_secret_that_nobody_writes() -> None:
    words = ("--set", "prometheusOperator.admissionWebhooks.enabled=false", "--set", RELEASE)
    objects = render_chart("monitoring", CHART, *words)
    (operator,) = (
        manifest
        for manifest in objects
        if (manifest["kind"], manifest["metadata"]["name"]) == ("Deployment", "monitoring-operator")
    )
    volumes = [{"name": "tls-secret", "secret": {"secretName": "monitoring-admission"}}]
    assert operator["spec"]["template"]["spec"]["volumes"] == volumes
    assert "monitoring-admission" not in {manifest["metadata"]["name"] for manifest in objects}


def test_an_unknown_key_is_refused() -> None:
    process = run("template", "monitoring", CHART, "--set", "prometheus.prometheusSpec.retension=1d")
    assert "'retension' not allowed" in process.stderr


def test_a_password_in_grafana_ini_is_refused() -> None:
    process = run("lint", CHART, "--set", r"grafana.grafana\.ini.security.admin_password=x")
    assert "Sensitive key 'security.admin_password'" in process.stdout + process.stderr


def test_grafana_keeps_the_plugins_of_its_image() -> None:
    own_values = CHART.parents[4] / "values" / "monitoring.yaml"
    objects = render_chart("monitoring", CHART, "--namespace", "monitoring", "--set", RELEASE, "--values", own_values)
    (text,) = (manifest["data"]["grafana.ini"] for manifest in objects if "grafana.ini" in manifest.get("data", {}))
    assert "[plugins]\npreinstall_auto_update = false\n" in text
