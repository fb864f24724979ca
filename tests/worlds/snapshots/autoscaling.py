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

SERVED = read_case("autoscaling.external-metrics", "keda")
ON: dict[str, Any] = {"autoscaling": {"enabled": True}}


def build_deployments(**replicas: int) -> Answer:
    """Answer with KEDA's Deployments, each with one pod. `replicas` by name (`_` for `-`), -1 for one that is
    absent."""
    items = []
    for part in (OPERATOR, METRICS.format(OPERATOR), WEBHOOKS):
        wanted = replicas.get(part.replace("-", "_"), 1)
        status = {"observedGeneration": 1, "replicas": wanted, "updatedReplicas": wanted, "readyReplicas": wanted}
        one = {"metadata": {"name": part, "generation": 1}, "spec": {"replicas": wanted}, "status": status}
        items += [] if wanted < 0 else [one]
    return make_list("autoscaling.deployments", items)


def build_releases(spec: Mapping[str, Any] = ON, **labels: str) -> Answer:
    """The releases of the healthy cluster, and that of the step, with these labels of ours, digest or chart."""
    view = View(cluster.build_snapshot(place_answers(CLUSTER, SERVED), spec), CLUSTER)
    wanted = build_release(view)
    ours = {
        "name": wanted.name, "owner": "helm", "status": "deployed", "version": "1",
        "gpustack-chart": view.versions.charts[wanted.chart].version, "gpustack-digest": wanted.compute_digest(view),
    }  # fmt: skip
    named = {
        "name": f"sh.helm.release.v1.{wanted.name}.v1",
        "namespace": wanted.namespace,
        "labels": ours | {f"gpustack-{name}": text for name, text in labels.items()},
    }
    known = json.loads(cluster.build_answers()["helm.releases", CLUSTER].stdout)["items"]
    return make_list("helm.releases", [*known, {"metadata": named}])


def build_snapshot(spec: Mapping[str, Any] = ON, changed: Answers = {}) -> Snapshot:  # noqa: B006
    answers = place_answers(CLUSTER, build_deployments(), build_releases(spec), SERVED)
    return cluster.build_snapshot(answers | dict(changed), spec)
