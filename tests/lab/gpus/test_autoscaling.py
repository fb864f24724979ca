"""KEDA as a step: a Deployment that grows with the load of its GPUs, shrinks, and keeps its size without a metric.

The tests of this file stand in the order of the story. SCALING_RECORD=FILE keeps what happened over time.
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import yaml

from gpustack_lab import lab
from gpustack_lab.lab.faults import inject
from tests.lab import roads
from tests.lab.conftest import Run
from tests.lab.monitored import PAUSE, apply, run_kubectl
from tests.lab.witness import wait_until

pytestmark = [pytest.mark.lab, pytest.mark.slow]

NAME, MAX_REPLICAS = "scaled", 2
API = "v1beta1.external.metrics.k8s.io"
HELM = "KUBECONFIG=/etc/kubernetes/admin.conf /usr/local/lib/gpustack/helm"


@dataclass
class Story:
    """The lab with KEDA, and moments of it: seconds since the ScaledObject, replicas, what each GPU was set to."""

    lab: lab.Lab
    begin: float = 0.0
    load: str = ""
    moments: list[tuple[float, int, str]] = field(default_factory=list)

    def count_replicas(self) -> int:
        replicas = json.loads(run_kubectl(self.lab, "get", "deployment", NAME, "-o", "json"))["status"].get(
            "replicas", 0
        )
        self.moments.append((round(time.monotonic() - self.begin, 1), int(replicas), self.load))
        return int(replicas)

    def set_load(self, load: str) -> None:
        self.load = load
        for host in ("host1", "host2"):
            self.lab.set_gpu(host, f"load={load}")

    def read_condition(self, kind: str) -> dict[str, str]:
        loads = json.loads(run_kubectl(self.lab, "get", "hpa", f"keda-hpa-{NAME}", "-o", "json"))["status"][
            "conditions"
        ]
        return next((condition for condition in loads if condition["type"] == kind), {"status": "", "reason": ""})


@pytest.fixture(scope="module")
def story(two: lab.Lab, gpustack: Run) -> Iterator[Story]:
    """A lab with KEDA, and a Deployment whose pods have a GPU each. Both are gone at the end."""
    story = Story(two)
    container = {"name": "c", "image": PAUSE, "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    template = {"metadata": {"labels": {"app": NAME}}, "spec": {"containers": [container]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": NAME}}, "template": template}
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec}
    roads.set_spec(two, autoscaling={"enabled": True})
    try:
        apply(two, deployment | {"metadata": {"name": NAME, "namespace": "default"}})
        story.set_load("training")
        yield story
    finally:
        run_kubectl(two, "delete", "scaledobject,deployment", NAME, "--ignore-not-found")
        story.set_load("idle")
        two.exec("host1", ["sudo", "sh", "-c", f"{HELM} uninstall keda --namespace keda"], limit=300)
        run_kubectl(two, "delete", "namespace", "keda", "--ignore-not-found")
        roads.set_spec(two, autoscaling={"enabled": False})
        if record := os.environ.get("SCALING_RECORD"):
            Path(record).write_text(json.dumps(story.moments))


def find_differences(two: lab.Lab, gpustack: Run) -> dict[str, str]:
    """Find the checks of the step that differ, with their cure. Nothing else may differ."""
    states = json.loads(gpustack("plan", "-i", two.inventory, "-o", "json", code=1).stdout)["states"]
    failed_checks = {
        (state["step"], check["check"]): check["cure"]
        for state in states
        for check in state["checks"]
        if check["outcome"] != "ok"
    }
    assert {step for step, _ in failed_checks} == {"autoscaling"}, failed_checks
    return {check: cure for (_, check), cure in failed_checks.items()}


def test_another_server_of_the_api_is_named_and_left_alone(story: Story, gpustack: Run) -> None:
    service = {"name": "prometheus-adapter", "namespace": "default"}
    fields = {"groupPriorityMinimum": 100, "versionPriority": 100, "insecureSkipTLSVerify": True}
    spec = {"group": "external.metrics.k8s.io", "version": "v1beta1", "service": service, **fields}
    apply(
        story.lab,
        {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": API}, "spec": spec},
    )
    try:
        assert find_differences(story.lab, gpustack) == {"other-server": "operator"}
    finally:
        run_kubectl(story.lab, "delete", "apiservice", API)


def test_it_is_installed_and_then_there_is_nothing_to_do(story: Story, gpustack: Run) -> None:
    assert set(find_differences(story.lab, gpustack)) == {"chart", "workloads", "metrics-api"}
    gpustack("install", "-i", story.lab.inventory, "--yes", limit=900)
    assert "nothing to do" in gpustack("install", "-i", story.lab.inventory, "--yes").stdout


@pytest.mark.parametrize("fault", ["hpa-target-missing", "hpa-metric-missing"])
def test_what_the_lab_breaks_is_the_root_cause(story: Story, gpustack: Run, fault: str) -> None:
    inject.inject_fault(story.lab, fault)
    try:
        loads = json.loads(gpustack("doctor", "-i", story.lab.inventory, "-o", "json", code=None).stdout)
        assert [root["id"] for root in loads["roots"]] == [fault]
    finally:
        inject.undo_faults(story.lab)


def test_it_grows_by_the_metric_that_is_suggested(story: Story, gpustack: Run) -> None:
    (pod,) = run_kubectl(story.lab, "get", "pods", "-l", f"app={NAME}", "-o", "name").split()
    words = ("--pod", f"default/{pod.removeprefix('pod/')}", "--since", "5m", "--max", str(MAX_REPLICAS))

    def suggest_metric() -> str:
        return gpustack("autoscale", "suggest", "-i", story.lab.inventory, *words, code=None).stdout

    wait_until("a metric is suggested", lambda: "kind: ScaledObject" in suggest_metric(), limit=420)
    manifest = yaml.safe_load(suggest_metric())
    manifest["spec"] |= {"pollingInterval": 5}
    config = manifest["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    # As suggested but for its ten minutes.
    config["scaleDown"] = {
        "stabilizationWindowSeconds": 15,
        "policies": [{"type": "Pods", "value": 1, "periodSeconds": 30}],
    }
    story.begin = time.monotonic()
    apply(story.lab, manifest)
    wait_until("it has grown", lambda: story.count_replicas() == MAX_REPLICAS, limit=300)
    ready = "-o=jsonpath={.status.readyReplicas}"
    wait_until(
        "all run",
        lambda: run_kubectl(story.lab, "get", "deployment", NAME, ready).strip() == str(MAX_REPLICAS),
        limit=120,
    )
    assert story.read_condition("ScalingActive")["status"] == "True"


def test_without_a_metric_it_keeps_its_size_and_doctor_says_so(story: Story, gpustack: Run) -> None:
    for host in ("host1", "host2"):
        story.lab.set_gpu(host, "exporter-silent=1")
    story.load = "no metric"
    try:
        reason = "FailedGetExternalMetric"
        wait_until("the metric is gone", lambda: story.read_condition("ScalingActive")["reason"] == reason, limit=420)
        for _ in range(20):
            assert story.count_replicas() == MAX_REPLICAS
            time.sleep(3)
        loads = json.loads(gpustack("doctor", "-i", story.lab.inventory, "-o", "json", code=None).stdout)
        assert "hpa-metric-missing" in json.dumps(loads)
    finally:
        for host in ("host1", "host2"):
            story.lab.set_gpu(host, "exporter-silent=0")


def test_it_shrinks_when_the_load_is_gone(story: Story) -> None:
    story.set_load("idle")
    wait_until("it has shrunk", lambda: story.count_replicas() == 1, limit=420)
    assert story.read_condition("ScalingActive")["status"] == "True"


def test_a_metrics_server_that_is_away_is_the_root_cause(story: Story, gpustack: Run) -> None:
    keda = ("-n", "keda")
    run_kubectl(story.lab, *keda, "scale", "deployment", "keda-operator-metrics-apiserver", "--replicas", "0")
    reason = "FailedGetExternalMetric"
    wait_until("the metric is gone", lambda: story.read_condition("ScalingActive")["reason"] == reason, limit=300)
    loads = json.loads(gpustack("doctor", "-i", story.lab.inventory, "-o", "json", code=None).stdout)
    assert [root["id"] for root in loads["roots"]] == ["autoscaling-api-down"]
    gpustack("install", "-i", story.lab.inventory, "--yes", limit=600)
    wait_until("it scales again", lambda: story.read_condition("ScalingActive")["status"] == "True", limit=180)


def test_a_target_that_is_gone_is_named(story: Story, gpustack: Run) -> None:
    run_kubectl(story.lab, "delete", "deployment", NAME)
    wait_until("it is missed", lambda: story.read_condition("AbleToScale")["reason"] == "FailedGetScale", limit=180)
    loads = json.loads(gpustack("doctor", "-i", story.lab.inventory, "-o", "json", code=None).stdout)
    assert [root["id"] for root in loads["roots"]] == ["hpa-target-missing"]
