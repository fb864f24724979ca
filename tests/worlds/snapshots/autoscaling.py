"""The healthy cluster with KEDA in it, as the step leaves it; a test changes what it needs."""

import json
from collections.abc import Mapping
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.steps.autoscaling.server import METRICS, OPERATOR, WEBHOOKS
from gpustack.steps.autoscaling.values import build_release
from tests.worlds.snapshots import cluster
from tests.worlds.snapshots.answers import make_list, place_answers, read_case
from tests.worlds.snapshots.build import Answers

SERVED_METRICS = read_case("autoscaling.external-metrics", "keda")
ENABLED_SPEC: dict[str, Any] = {"autoscaling": {"enabled": True}}


def build_deployments(**replicas: int) -> Answer:
    """Answer with KEDA's Deployments, each with one pod. `replicas` by name (`_` for `-`), -1 for one that is
    absent."""
    items = []
    for part in (OPERATOR, METRICS.format(OPERATOR), WEBHOOKS):
        desired_replicas = replicas.get(part.replace("-", "_"), 1)
        status = {
            "observedGeneration": 1,
            "replicas": desired_replicas,
            "updatedReplicas": desired_replicas,
            "readyReplicas": desired_replicas,
        }
        deployment = {
            "metadata": {"name": part, "generation": 1},
            "spec": {"replicas": desired_replicas},
            "status": status,
        }
        items += [] if desired_replicas < 0 else [deployment]
    return make_list("autoscaling.deployments", items)


def build_releases(spec: Mapping[str, Any] = ENABLED_SPEC, **labels: str) -> Answer:
    """The releases of the healthy cluster, and that of the step, with these labels of ours, digest or chart."""
    view = View(cluster.build_snapshot(place_answers(CLUSTER, SERVED_METRICS), spec), CLUSTER)
    release = build_release(view)
    own_labels = {
        "name": release.name, "owner": "helm", "status": "deployed", "version": "1",
        "gpustack-chart": view.versions.charts[release.chart].version, "gpustack-digest": release.compute_digest(view),
    }  # fmt: skip
    secret = {
        "name": f"sh.helm.release.v1.{release.name}.v1",
        "namespace": release.namespace,
        "labels": own_labels | {f"gpustack-{name}": text for name, text in labels.items()},
    }
    releases = json.loads(cluster.build_answers()["helm.releases", CLUSTER].stdout)["items"]
    return make_list("helm.releases", [*releases, {"metadata": secret}])


def build_snapshot(spec: Mapping[str, Any] = ENABLED_SPEC, changed_answers: Answers = {}) -> Snapshot:  # noqa: B006
    answers = place_answers(CLUSTER, build_deployments(), build_releases(spec), SERVED_METRICS)
    return cluster.build_snapshot(answers | dict(changed_answers), spec)
