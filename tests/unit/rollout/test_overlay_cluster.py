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
    none = place_answers(CLUSTER, read_case("autoscaling.external-metrics", "none"))
    found = build_cluster_variables(gpus.build_snapshot(none, {"autoscaling": {"enabled": True}}))
    assert set(found["gpustack_releases"]) == set(RELEASES)
    assert set(found["gpustack_objects"]) == set(OBJECTS)
    for release in found["gpustack_releases"].values():
        assert set(release) == {"name", "namespace", "version", "url", "sha256", "digest", "privileged", "values"}
    for step in ("dashboards", "alerts"):
        stamps = {one["metadata"]["annotations"][DIGEST] for one in found["gpustack_objects"][step]["objects"]}
        assert len(stamps) == len(found["gpustack_objects"][step]["objects"]) > 1
    assert json.loads(json.dumps(found)) == found, "Ansible reads it as YAML"


def test_what_is_unknown_is_left_out_and_takes_nothing_with_it() -> None:
    """The hosts decide who brings the drivers; Prometheus does not depend on them."""
    silent = {("gpu.devices", host): make_answer("gpu.devices", "", 127) for host in ("k1", "k2")}
    found = build_cluster_variables(build_snapshot(silent, {}, (K1, K2)))
    assert set(found["gpustack_releases"]) == {"monitoring", "autoscaling"}
    assert {"dashboards", "alerts"} <= set(found["gpustack_objects"])


def test_only_control_planes_are_given_them() -> None:
    hosts = build_overlay(of_hosts({}, {}))["all"]["hosts"]
    given = {
        name: {key for key in of if key in ("gpustack_releases", "gpustack_objects")} for name, of in hosts.items()
    }
    assert given == {"h1": {"gpustack_releases", "gpustack_objects"}, "h2": set()}


def digest(spec: dict[str, Any]) -> str:
    found: str = build_cluster_variables(build_snapshot({}, spec, (K1, K2)))["gpustack_releases"]["monitoring"][
        "digest"
    ]
    return found


def test_the_digest_of_a_release_follows_its_values_and_nothing_else() -> None:
    before = digest({})
    assert before == digest({}) == digest({"dashboards": {"folder": "X"}}) == digest({"gpu": {"stack": "operator"}})
    changed = {
        digest({"monitoring": values}) for values in ({"retention": "30d"}, {"memory": "1Gi"}, {"namespace": "m"})
    }
    assert len(changed | {before}) == 4
    assert len(before) == 40


def test_a_webhooks_secret_is_no_value() -> None:
    spec = {"alerts": {"receivers": {"default": [{"type": "webhook", "secret_file": "/home/ops/secret-path"}]}}}
    found = build_cluster_variables(build_snapshot({}, spec, (K1, K2)))["gpustack_releases"]["monitoring"]
    assert "secret-path" not in json.dumps(found)
    assert "/etc/alertmanager/secrets/gpustack-receivers/default-webhook" in json.dumps(found)


def test_without_a_gpu_there_is_nothing_to_bring() -> None:
    """The roles are played with --force all the same, on a cluster that nobody monitors and that has no GPU."""
    found = build_cluster_variables(build_snapshot({}, {"monitoring": {"enabled": False}}, (K1, K2)))
    assert found["gpustack_releases"] == {"monitoring": {}, "gpu-operator": {}, "autoscaling": {}}
    assert found["gpustack_objects"]["gpu-metrics"] == {
        "monitor": "",
        "objects": [],
        "release": "gpu-operator",
    }
