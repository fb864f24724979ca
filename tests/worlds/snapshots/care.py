"""The healthy cluster with GPUs and the daily diagnostic, as the step leaves it; a test changes what it needs."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpustack.ask.probe import CLUSTER, Answer
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.config.host import Host
from gpustack.steps.care.objects import KINDS, build_objects
from tests.worlds.snapshots import gpus
from tests.worlds.snapshots.answers import make_list, place_answers
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.cluster import K1, K2
from tests.worlds.snapshots.host_stack import mark_applied

ENABLED_SPEC: dict[str, Any] = {"care": {"enabled": True}}
DISABLED_SPEC: dict[str, Any] = {"care": {"enabled": False}}


def build_wanted_objects() -> list[dict[str, Any]]:
    """The objects of the step."""
    return build_objects(View(gpus.build_snapshot(spec=ENABLED_SPEC), CLUSTER))


def place_objects(*manifests: Mapping[str, Any]) -> dict[tuple[str, str], Answer]:
    """Answer with the objects that are there, by kind."""
    return place_answers(
        CLUSTER,
        *(
            make_list(probe.id, [mark_applied(dict(manifest)) for manifest in manifests if manifest["kind"] == kind])
            for kind, (_, probe) in KINDS.items()
        ),
    )


def build_snapshot(
    spec: Mapping[str, Any] = ENABLED_SPEC,
    changed_answers: Answers = {},  # noqa: B006
    hosts: Sequence[Host] = (K1, K2),
) -> Snapshot:
    answers = place_objects(*build_wanted_objects())
    return gpus.build_snapshot(answers | dict(changed_answers), spec, hosts)
