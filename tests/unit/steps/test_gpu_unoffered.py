"""Allocatable GPUs that no ordinary pod gets are said to be so, wherever they are counted."""

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.config.host import CONTROL_PLANE, NODE
from gpustack.rollout.warnings import list_warnings
from gpustack.steps.gpu.unoffered import describe_unoffered_gpus
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.cluster import K1, K2
from tests.worlds.snapshots.gpus import build_snapshot

PLANE = "node-role.kubernetes.io/control-plane"
ADVICE = " (a control plane that is listed in kube_node as well runs pods)"


def place_taints(taints: Sequence[tuple[str, str]]) -> Answers:
    """Give the control plane of the healthy cluster these taints alone."""
    key = ("kube.nodes", CLUSTER)
    answer = build_snapshot().answers[key]
    document = json.loads(answer.stdout)
    for entry in document["items"]:
        entry["spec"].pop("taints", None)
    document["items"][0]["spec"]["taints"] = [{"key": name, "effect": effect} for name, effect in taints]
    return {key: replace(answer, stdout=json.dumps(document))}


def describe_gpus(taints: Sequence[tuple[str, str]]) -> list[str]:
    return list(describe_unoffered_gpus(View(build_snapshot(place_taints(taints)), CLUSTER)))


@pytest.mark.parametrize(
    ("taints", "reason"),
    [
        ([(PLANE, "NoSchedule")], f"taint {PLANE}:NoSchedule{ADVICE}"),
        ([("team", "NoSchedule")], "taint team:NoSchedule"),
        ([("team", "NoExecute"), ("a", "NoSchedule")], "taint a:NoSchedule, team:NoExecute"),
        ([("node.kubernetes.io/unschedulable", "NoSchedule")], "the node is cordoned"),
        ([("nvidia.com/gpu", "NoExecute")], "taint nvidia.com/gpu:NoExecute"),
    ],
)
def test_gpus_behind_a_taint_are_a_warning(taints: list[tuple[str, str]], reason: str) -> None:
    sentence = f"k1: no ordinary pod gets its 2 allocatable GPUs: {reason}"
    assert describe_gpus(taints) == [sentence]
    assert sentence in list_warnings(build_snapshot(place_taints(taints)))


@pytest.mark.parametrize(
    "taints",
    [
        [],
        [("nvidia.com/gpu", "NoSchedule")],
        [("team", "PreferNoSchedule")],
        [("node.kubernetes.io/disk-pressure", "NoSchedule")],
    ],
)
def test_tolerated_taints_make_no_finding(taints: list[tuple[str, str]]) -> None:
    """A pod with a GPU tolerates that of nodes with GPUs; Kubernetes' own marks are faults of their own."""
    assert describe_gpus(taints) == []


def test_a_control_plane_in_both_groups_needs_no_advice() -> None:
    plane = replace(K1, groups=frozenset({CONTROL_PLANE, NODE}))
    snapshot = build_snapshot(place_taints([(PLANE, "NoSchedule")]), hosts=(plane, K2))
    (sentence,) = describe_unoffered_gpus(View(snapshot, CLUSTER))
    assert sentence.endswith(f"taint {PLANE}:NoSchedule")
