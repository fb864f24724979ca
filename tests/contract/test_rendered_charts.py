"""The simulated charts, and what steps, probes and rules name, against what the real charts render with our values.

Facts of the real ones are reference data: names, labels, ports, selectors, jobs. Without them the tests are skipped.
"""

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.ask.probe import CLUSTER, Api
from gpustack.ask.view import View
from gpustack.proof.services import LABELS
from gpustack.steps import PROBES
from gpustack.steps.gpu import operator as gpu_operator
from gpustack.steps.monitoring import step as monitoring
from gpustack.steps.releases import RELEASES
from tests.helm import render_chart
from tests.worlds.snapshots.gpus import BARE, build_snapshot

ROOT = Path(__file__).parents[2]
SIMULATED_CHARTS = ROOT / "lab" / "gpustack_lab" / "simulated" / "charts"
REFERENCE = Path(os.environ.get("GPUSTACK_REFERENCE_DATA") or ROOT.parent / "shared" / "data") / "rendered"
# File of facts, the step whose release it is, and what differs from a cluster with drivers on its hosts.
RENDERED_CHARTS = {
    "kube-prometheus-stack": ("monitoring", {}),
    "gpu-operator-host": ("gpu-operator", {}),
    "gpu-operator-container": ("gpu-operator", BARE),
}
each_chart = pytest.mark.parametrize("name", RENDERED_CHARTS)
Objects = dict[tuple[str, str], dict[str, Any]]
# Labels that say only which chart made an object.
CHART = {
    "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of", "app.kubernetes.io/version", "chart", "helm.sh/chart",
    "heritage",
}  # fmt: skip
# What the simulated charts have otherwise, and why.
OWN_OBJECTS = {
    ("ConfigMap", "gpu-operator-upgrade-crd"): "the image of the real one has the CRD in it",
}


def read_facts(name: str) -> Objects:
    path = REFERENCE / f"{name}.yaml"
    if not path.is_file():
        pytest.skip(f"no {path}: GPUSTACK_REFERENCE_DATA names a folder with rendered/<chart>.yaml")
    return {(facts["kind"], facts["name"]): facts for facts in yaml.safe_load(path.read_text())}


@cache
def render_simulated(name: str, folder: Path) -> Objects:
    step, changed_values = RENDERED_CHARTS[name]
    release = RELEASES[step].builder(View(build_snapshot(changed_values), CLUSTER))
    values = folder / f"{name}.yaml"
    values.write_text(yaml.safe_dump(dict(release.values)))
    words = ("--namespace", release.namespace, "--values", values)
    objects = render_chart(release.name, SIMULATED_CHARTS / release.chart, *words)
    return {(manifest["kind"], manifest["metadata"]["name"]): manifest for manifest in objects}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("values")


def pair_objects(name: str, folder: Path, *kinds: str) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
    real, simulated = read_facts(name), render_simulated(name, folder)
    shared_keys = sorted(key for key in set(real) & set(simulated) if key[0] in kinds)
    return [
        (f"{kind} {name_of_object}", simulated[kind, name_of_object], real[kind, name_of_object])
        for kind, name_of_object in shared_keys
    ]


def find_differences(pairs: dict[str, tuple[Any, Any]]) -> dict[str, tuple[Any, Any]]:
    return {place: pair for place, pair in pairs.items() if pair[0] != pair[1]}


@each_chart
def test_simulated_objects_are_among_the_real_ones(name: str, folder: Path) -> None:
    assert set(render_simulated(name, folder)) - set(read_facts(name)) - set(OWN_OBJECTS) == set()


@each_chart
def test_namespaces_and_labels_are_those_of_the_real_ones(name: str, folder: Path) -> None:
    differences = {}
    for place, simulated, real in pair_objects(name, folder, "Service", "ServiceMonitor", "Deployment", "DaemonSet"):
        labels = {key: text for key, text in simulated["metadata"]["labels"].items() if key not in CHART}
        differences[place] = ((simulated["metadata"]["namespace"], labels), (real["namespace"], real["labels"]))
    assert differences
    assert find_differences(differences) == {}


@each_chart
def test_services_lead_where_the_real_ones_do(name: str, folder: Path) -> None:
    differences = {}
    for place, simulated, real in pair_objects(name, folder, "Service"):
        spec = simulated["spec"]
        ports = [{key: port[key] for key in ("name", "port", "targetPort")} for port in spec["ports"]]
        differences[place] = (
            (ports, spec["selector"], spec.get("clusterIP") == "None"),
            (real["ports"], real["selector"], real.get("headless", False)),
        )
    assert find_differences(differences) == {}


@each_chart
def test_monitors_find_what_the_real_ones_do(name: str, folder: Path) -> None:
    """The interval may differ: the lab is small."""
    differences = {}
    for place, simulated, real in pair_objects(name, folder, "ServiceMonitor"):
        spec = simulated["spec"]
        keys = ("selector", "namespaceSelector", "jobLabel")
        differences[place] = (
            ([spec.get(key) for key in keys], [describe_endpoint(endpoint) for endpoint in spec["endpoints"]]),
            ([real[key] for key in keys], [describe_endpoint(endpoint) for endpoint in real["endpoints"]]),
        )
    assert find_differences(differences) == {}


def describe_endpoint(values: dict[str, Any]) -> tuple[str, str, str, bool]:
    """Describe an endpoint with the Prometheus operator's defaults."""
    return (
        values["port"],
        values.get("path", "/metrics"),
        values.get("scheme", "http"),
        values.get("honorLabels", False),
    )


@each_chart
def test_workloads_select_and_listen_as_the_real_ones(name: str, folder: Path) -> None:
    """Containers and ports that only the real one has are simulated within the others."""
    differences, extra_parts = {}, {}
    for place, simulated, real in pair_objects(name, folder, "Deployment", "DaemonSet"):
        differences[place] = (simulated["spec"]["selector"]["matchLabels"], real["selector"])
        pod = simulated["spec"]["template"]["spec"]
        for container in pod["containers"]:
            real_ports = {
                (port["name"], port["containerPort"]) for port in real["containers"][container["name"]]["ports"]
            }
            mine = {(port["name"], port["containerPort"]) for port in container.get("ports", ())}
            # The lab runs NFD 0.17, whose ports are metrics and health; 0.19 has http.
            if mine - real_ports and "node-feature-discovery" not in place:
                extra_parts[place] = mine - real_ports
        for key in ("nodeSelector", "tolerations", "serviceAccountName", "priorityClassName"):
            differences[f"{place}: {key}"] = (pod.get(key), real.get(key))
    assert find_differences(differences) == {}
    assert extra_parts == {}


@each_chart
def test_selected_pods_have_the_labels(name: str, folder: Path) -> None:
    for place, simulated, _ in pair_objects(name, folder, "Deployment", "DaemonSet"):
        labels = simulated["spec"]["template"]["metadata"]["labels"]
        assert simulated["spec"]["selector"]["matchLabels"].items() <= labels.items(), place


def test_services_that_probes_go_through_are_there_with_these_ports() -> None:
    real = read_facts("kube-prometheus-stack")
    queried_ports = set()
    for probe in PROBES:
        if isinstance(probe.question, Api):
            queried_ports |= set(re.findall(r"/services/https?:([^:/]+):([^:/]+)/proxy", probe.question.path))
    assert queried_ports
    for service, port in queried_ports:
        service_facts = real["Service", service.replace("$RELEASE", "monitoring")]
        assert port in {port["name"] for port in service_facts["ports"]}


def test_what_step_monitoring_waits_for_is_what_the_chart_makes() -> None:
    real = read_facts("kube-prometheus-stack")
    view = View(build_snapshot(), CLUSTER)
    assert view.spec.monitoring.release == "monitoring"
    for kind, name in (
        ("Deployment", "operator"), ("Deployment", "grafana"), ("Deployment", "kube-state-metrics"),
        ("DaemonSet", "prometheus-node-exporter"), ("Prometheus", "prometheus"), ("Alertmanager", "alertmanager"),
    ):  # fmt: skip
        assert (kind, f"monitoring-{name}") in real
    spec = real["Prometheus", "monitoring-prometheus"]["spec"]
    assert {key: spec[key] for key in spec if key.endswith("Selector")} == {
        key: {} for key in spec if key.endswith("Selector")
    }


def test_jobs_of_the_control_plane_are_those_of_the_chart() -> None:
    """A job is what the jobLabel of the Service says, else the Service's name (prometheus-operator, api reference)."""
    real = read_facts("kube-prometheus-stack")
    jobs = set()
    for (kind, _), monitor in real.items():
        if kind == "ServiceMonitor":
            labels = (monitor["selector"]["matchLabels"] or {}).items()
            for (service_name, name), service in real.items():
                if service_name == "Service" and labels <= service["labels"].items():
                    jobs.add(service["labels"].get(monitor["jobLabel"], name))
    assert set(monitoring.JOBS.values()) | {"node-exporter", "kube-state-metrics"} <= jobs


def test_parts_that_are_reached_have_the_labels_by_which_they_are_found() -> None:
    real = read_facts("kube-prometheus-stack")
    for part in ("grafana", "prometheus", "alertmanager"):
        label, value = LABELS[part]
        names = [
            name for (kind, name), facts in real.items() if kind == "Service" and facts["labels"].get(label) == value
        ]
        assert names == [f"monitoring-{part}"]


def test_the_policy_that_step_gpu_operator_reads_is_the_chart_s() -> None:
    for name in ("gpu-operator-host", "gpu-operator-container"):
        real = read_facts(name)
        assert ("ClusterPolicy", gpu_operator.POLICY) in real
        assert ("Deployment", "gpu-operator") in real
        spec = real["ClusterPolicy", gpu_operator.POLICY]["spec"]
        assert spec["driver"]["enabled"] == (name == "gpu-operator-container")
        assert spec["dcgmExporter"]["config"]["name"] in {
            object_name for kind, object_name in real if kind == "ConfigMap"
        }


@pytest.mark.parametrize("name", ["gpu-operator-host", "gpu-operator-container"])
def test_the_simulated_policy_says_of_parts_what_the_real_one_says(name: str, folder: Path) -> None:
    """Parts are compared by whether they are on, their image, and our values. Versions are those that can be
    compiled."""
    key = ("ClusterPolicy", gpu_operator.POLICY)
    simulated, real = render_simulated(name, folder)[key]["spec"], read_facts(name)[key]["spec"]
    differences = {}
    for part, entry in simulated.items():
        for word in ("enabled", "repository", "image", "strategy", "config", "serviceMonitor", "kernelModuleType"):
            if word in entry and part != "migManager":
                differences[f"{part}.{word}"] = (entry[word], real[part].get(word))
    assert len(differences) > 20
    assert find_differences(differences) == {}
    assert (simulated["daemonsets"]["tolerations"], simulated["mig"]) == (
        real["daemonsets"]["tolerations"],
        real["mig"],
    )
