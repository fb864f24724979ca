"""The healthy cluster with `gpustack serve` in it, as the step leaves it; a test changes what it needs."""

import json
from collections.abc import Mapping
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.steps.serve import KINDS, NAME, build_objects
from tests.worlds.snapshots import cluster
from tests.worlds.snapshots.answers import make_list, place_answers
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.cluster import build_answers
from tests.worlds.snapshots.host_stack import mark_applied

IMAGE = "registry.example.com/gpustack:0.1.0"
ENABLED_SPEC: dict[str, Any] = {"serve": {"enabled": True, "image": IMAGE}}
DISABLED_SPEC: dict[str, Any] = {"serve": {"enabled": False}}
DEPLOYMENTS = "monitoring.deployments"
READY: dict[str, Any] = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1}


def build_wanted_objects() -> list[dict[str, Any]]:
    """The objects of the step."""
    return build_objects(View(cluster.build_snapshot(spec=ENABLED_SPEC), CLUSTER))


def make_deployments(replicas: int = 1, **status: Any) -> Answer:
    """The Deployments of the monitoring, and this one."""
    document = json.loads(build_answers()[DEPLOYMENTS, CLUSTER].stdout)
    metadata = {"name": NAME, "generation": 1}
    deployment = {"metadata": metadata, "spec": {"replicas": replicas}, "status": {**READY, **status}}
    return make_list(DEPLOYMENTS, [*document["items"], deployment])


def place_objects(*manifests: Mapping[str, Any]) -> dict[tuple[str, str], Answer]:
    """Answer with the objects that are there, by kind."""
    return place_answers(
        CLUSTER,
        *(
            make_list(probe.id, [mark_applied(dict(manifest)) for manifest in manifests if manifest["kind"] == kind])
            for kind, (_, probe) in KINDS.items()
        ),
    )


def build_snapshot(spec: Mapping[str, Any] = ENABLED_SPEC, changed_answers: Answers = {}) -> Snapshot:  # noqa: B006
    answers = place_objects(*build_wanted_objects()) | place_answers(CLUSTER, make_deployments())
    return cluster.build_snapshot(answers | dict(changed_answers), spec)
