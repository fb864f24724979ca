"""GPU nodes join behind the gate where gpu.gate asks for it, and the pods that a proof needs have its toleration."""

import json
from typing import Any

import jinja2
import pytest
import yaml

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.autoscale.manifest import build_scaled_object
from gpustack.config.resources import locate_playbooks
from gpustack.steps.autoscaling.values import build_release as build_autoscaling
from gpustack.steps.care.objects import build_pod as build_care_pod
from gpustack.steps.gpu.operator_values import build_release as build_operator
from gpustack.steps.gpu.plugin_objects import build_placement
from gpustack.steps.monitoring.values import build_chart_values
from gpustack.steps.serve import build_pod as build_serve_pod
from tests.worlds.results.scaled_workloads import build_draft
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.gpus import build_snapshot

GATE = "gpustack.io/unproven"
ROLES = locate_playbooks() / "roles"


def build_view(*, gate: bool) -> View:
    return View(build_snapshot(spec={"gpu": {"gate": gate}}), CLUSTER)


def list_keys(part: Any) -> list[str]:
    return [toleration["key"] for toleration in part.get("tolerations", ())]


def render(role: str, name: str, **variables: Any) -> Any:
    environment = jinja2.Environment(undefined=jinja2.ChainableUndefined, autoescape=False, trim_blocks=True)
    environment.filters["to_json"] = lambda value, **_: str(value)
    text = (ROLES / role / "templates" / name).read_text()
    return yaml.safe_load(environment.from_string(text).render(workers_token_parts=["t", "h"], **variables))


def test_a_gpu_node_joins_with_the_taint() -> None:
    """`kubeadm config validate` of 1.36.4 accepts the file, and its kubelet the flag that kubeadm makes of it."""
    document = render("workers", "join.yaml.j2", workers_timeout_factor=1, workers_gate=True)
    assert document["nodeRegistration"]["taints"] == [{"key": GATE, "effect": "NoSchedule"}]
    plain = render("workers", "join.yaml.j2", workers_timeout_factor=1, workers_gate=False)
    assert "taints" not in plain["nodeRegistration"]


def test_only_a_host_with_gpus_joins_behind_the_gate() -> None:
    expression = yaml.safe_load((ROLES / "workers" / "vars" / "main.yml").read_text())["workers_gate"]
    for gate, gpus, expected in ((True, 2, "True"), (True, 0, "False"), (False, 2, "False")):
        text = jinja2.Template(expression).render(gpustack={"gpu": {"gate": gate}}, gpustack_host={"gpus": gpus})
        assert text == expected


@pytest.mark.parametrize("gate", [True, False])
def test_what_serves_gpus_accepts_the_gate(*, gate: bool) -> None:
    view = build_view(gate=gate)
    values = build_operator(view).values
    assert (GATE in list_keys(values["daemonsets"])) is gate
    assert (GATE in list_keys(values.get("operator", {}))) is gate
    discovery = values.get("node-feature-discovery", {})
    assert (GATE in list_keys(discovery.get("worker", {}))) is gate
    assert (GATE in list_keys(build_placement(view))) is gate
    assert GATE in list_keys(build_care_pod(view, "k1", 2))


def test_what_serves_gpus_accepts_a_gate_that_is_left() -> None:
    """The setting may be off again while a node waits for its proof."""
    taint = ("node-role.kubernetes.io/control-plane", GATE)
    answers = place_answers(CLUSTER, read_case("kube.nodes", "control-plane", taint))
    view = View(build_snapshot(answers), CLUSTER)
    assert GATE in list_keys(build_operator(view).values["daemonsets"])
    assert GATE in list_keys(build_placement(view))


@pytest.mark.parametrize("gate", [True, False])
def test_what_a_proof_asks_accepts_the_gate(*, gate: bool) -> None:
    values = build_chart_values(build_view(gate=gate).snapshot.inventory)
    parts = (
        values["prometheus"]["prometheusSpec"],
        values["alertmanager"].get("alertmanagerSpec", {}),
        *(values[name] for name in ("prometheusOperator", "grafana", "kube-state-metrics")),
    )
    assert [list_keys(part) for part in parts] == [[GATE] if gate else []] * 5


@pytest.mark.parametrize("gate", [True, False])
def test_what_steps_wait_for_accepts_the_gate(*, gate: bool) -> None:
    """An installation ends before a proof, and waits for the pods of serve and of KEDA, which have no GPU."""
    spec = {
        "gpu": {"gate": gate},
        "serve": {"enabled": True, "image": "registry.example.com/gpustack:0.1.0"},
        "autoscaling": {"enabled": True},
    }
    view = View(build_snapshot(spec=spec), CLUSTER)
    expected = [GATE] if gate else []
    assert list_keys(build_serve_pod(view)) == expected
    assert list_keys(build_autoscaling(view).values) == expected


def test_what_is_scaled_keeps_its_own_tolerations() -> None:
    """A model that is served lands on no unproven node: the manifest names what is scaled, and has no pod of it."""
    scaled_object = build_scaled_object(build_draft())["spec"]
    assert scaled_object["scaleTargetRef"] == {"kind": "Deployment", "name": "vllm"}
    assert "toleration" not in json.dumps(scaled_object)


@pytest.mark.parametrize("gate", [True, False])
def test_the_provisioner_accepts_the_gate(*, gate: bool) -> None:
    patches = render("storage", "kustomization.yaml.j2", storage_gate=gate)["patches"]
    deployments = [patch for patch in patches if patch["target"]["kind"] == "Deployment"]
    assert bool(deployments) is gate
    assert all(yaml.safe_load(patch["patch"])[0]["value"][0]["key"] == GATE for patch in deployments)
