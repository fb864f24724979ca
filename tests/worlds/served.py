"""The healthy cluster with `gpustack serve` in it, as the step leaves it; a test changes what it needs."""

import json
from collections.abc import Mapping
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.steps.serve import KINDS, NAME, build_objects
from tests.worlds import cluster
from tests.worlds.cases import answers_at, written
from tests.worlds.cluster import healthy
from tests.worlds.host_stack import applied, listed
from tests.worlds.snapshot import Answers

IMAGE = "registry.example.com/gpustack:0.1.0"
ON: dict[str, Any] = {"serve": {"enabled": True, "image": IMAGE}}
OFF: dict[str, Any] = {"serve": {"enabled": False}}
DEPLOYMENTS = "monitoring.deployments"
READY: dict[str, Any] = {"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1}


def wanted() -> list[dict[str, Any]]:
    """The objects of the step."""
    return build_objects(View(cluster.snapshot(spec=ON), CLUSTER))


def running(replicas: int = 1, **status: Any) -> Answer:
    """The Deployments of the monitoring, and this one."""
    known = json.loads(healthy()[DEPLOYMENTS, CLUSTER].stdout)
    metadata = {"name": NAME, "generation": 1}
    one = {"metadata": metadata, "spec": {"replicas": replicas}, "status": {**READY, **status}}
    return written(DEPLOYMENTS, json.dumps({"items": [*known["items"], one]}))


def brought(*found: Mapping[str, Any]) -> dict[tuple[str, str], Answer]:
    """What there is of our objects, by kind."""
    return answers_at(
        CLUSTER,
        *(
            written(probe.id, listed([applied(dict(one)) for one in found if one["kind"] == kind]))
            for kind, (_, probe) in KINDS.items()
        ),
    )


def snapshot(spec: Mapping[str, Any] = ON, changed: Answers = {}) -> Snapshot:  # noqa: B006
    answers = brought(*wanted()) | answers_at(CLUSTER, running())
    return cluster.snapshot(answers | dict(changed), spec)
