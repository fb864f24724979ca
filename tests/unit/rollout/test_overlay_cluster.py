"""The roles of the cluster's steps read releases and objects, and nothing of what is unknown."""

import json
from typing import Any

from gpustack.ask.probe import CLUSTER
from gpustack.probes.kubernetes.applied_objects import DIGEST
from gpustack.rollout.overlay import build_cluster_variables, build_overlay
from gpustack.steps.objects import OBJECTS
from gpustack.steps.releases import RELEASES
from tests.worlds.snapshots import gpus
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.cluster import K1, K2, build_snapshot
from tests.worlds.snapshots.hosts import build_snapshot as of_hosts


def test_a_known_cluster_gets_every_release_and_all_objects() -> None:
    without_metrics = place_answers(CLUSTER, read_case("autoscaling.external-metrics", "none"))
    variables = build_cluster_variables(gpus.build_snapshot(without_metrics, {"autoscaling": {"enabled": True}}))
    assert set(variables["gpustack_releases"]) == set(RELEASES)
    assert set(variables["gpustack_objects"]) == set(OBJECTS)
    for release in variables["gpustack_releases"].values():
        assert set(release) == {
            "name", "namespace", "version", "url", "sha256", "digest", "value_labels", "privileged", "values",
        }  # fmt: skip
    for step in ("dashboards", "alerts"):
        stamps = {
            manifest["metadata"]["annotations"][DIGEST] for manifest in variables["gpustack_objects"][step]["objects"]
        }
        assert len(stamps) == len(variables["gpustack_objects"][step]["objects"]) > 1
    assert json.loads(json.dumps(variables)) == variables, "Ansible reads it as YAML"


def test_what_is_unknown_is_left_out_and_takes_nothing_with_it() -> None:
    """The hosts decide who brings the drivers; Prometheus does not depend on them."""
    silent = {("gpu.devices", host): make_answer("gpu.devices", "", 127) for host in ("k1", "k2")}
    variables = build_cluster_variables(build_snapshot(silent, {}, (K1, K2)))
    assert set(variables["gpustack_releases"]) == {"monitoring", "autoscaling"}
    assert {"dashboards", "alerts"} <= set(variables["gpustack_objects"])


def test_only_control_planes_are_given_them() -> None:
    hosts = build_overlay(of_hosts({}, {}))["all"]["hosts"]
    given_variables = {
        name: {key for key in names if key in ("gpustack_releases", "gpustack_objects")}
        for name, names in hosts.items()
    }
    assert given_variables == {"h1": {"gpustack_releases", "gpustack_objects"}, "h2": set()}


def digest(spec: dict[str, Any]) -> str:
    digest: str = build_cluster_variables(build_snapshot({}, spec, (K1, K2)))["gpustack_releases"]["monitoring"][
        "digest"
    ]
    return digest


def test_the_digest_of_a_release_follows_its_values_and_nothing_else() -> None:
    before = digest({})
    assert before == digest({}) == digest({"dashboards": {"folder": "X"}}) == digest({"gpu": {"stack": "operator"}})
    changed_values = {
        digest({"monitoring": values}) for values in ({"retention": "30d"}, {"memory": "1Gi"}, {"namespace": "m"})
    }
    assert len(changed_values | {before}) == 4
    assert len(before) == 40


def test_a_webhooks_secret_is_no_value() -> None:
    spec = {"alerts": {"receivers": {"default": [{"type": "webhook", "secret_file": "/home/ops/secret-path"}]}}}
    variables = build_cluster_variables(build_snapshot({}, spec, (K1, K2)))["gpustack_releases"]["monitoring"]
    assert "secret-path" not in json.dumps(variables)
    assert "/etc/alertmanager/secrets/gpustack-receivers/default-webhook" in json.dumps(variables)


def test_without_a_gpu_there_is_nothing_to_bring() -> None:
    """The roles are played with --force all the same, on a cluster that nobody monitors and that has no GPU."""
    variables = build_cluster_variables(build_snapshot({}, {"monitoring": {"enabled": False}}, (K1, K2)))
    assert variables["gpustack_releases"] == {"monitoring": {}, "gpu-operator": {}, "autoscaling": {}}
    assert variables["gpustack_objects"]["gpu-metrics"] == {
        "monitor": "",
        "objects": [],
        "release": "gpu-operator",
    }
