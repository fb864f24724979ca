"""Faults and conditions of GPUs that need several answers: hosts without a GPU, pods that wait, and the order of the
operator's parts."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from gpustack.ask.probe import CLUSTER, Answer
from tests.unit.doctor.checks.evaluation import evaluate, snapshot, summarize
from tests.worlds.snapshots import gpus
from tests.worlds.snapshots.answers import read_case

Answers = Mapping[tuple[str, str], Answer]
IDLE = "op-no-gpu-nodes-false-ready"
NO_GPUS = {("gpu.devices", host): read_case("gpu.devices", "none") for host in ("k1", "k2")}
NO_GPU_NODES = {("gpu.cluster-policies", CLUSTER): read_case("gpu.cluster-policies", "no-gpu-nodes")}
ORDER = "st-driver-not-ready -> op-cdi-unresolvable"
WAITING = "st-gpu-unhealthy -> insufficient-resources"
PRODUCT = "nvidia.com/gpu.product"
UNLABELLED_EDGE = "st-gpu-operands-init -> st-no-gpu-labels"


def edit_answer(probe: str, location: str, case: str, old: str, new: str) -> Answers:
    return {(probe, location): read_case(probe, case, (old, new))}


@pytest.mark.parametrize(
    ("id", "location", "answers", "expected"),
    [
        (IDLE, CLUSTER, NO_GPU_NODES, ("ok", "k1, k2")),
        (IDLE, CLUSTER, {**NO_GPU_NODES, **NO_GPUS}, ("failed", "NoGPUNodes, with no GPU on any host")),
        (f"{IDLE} guard", CLUSTER, {}, ("ok", "not running, or hosts with a GPU")),
        (f"{IDLE} guard", CLUSTER, NO_GPUS, ("failed", "running")),
        (ORDER, "k1", {}, ("ok", "not ready before the driver")),
        (
            ORDER,
            "k1",
            edit_answer("gpu.plugin-files", "k1", "two-hosts-debian-12", "driver-ready\n", ""),
            ("failed", "ready before the driver"),
        ),
        (UNLABELLED_EDGE, "k1", {}, ("ok", "not missing alone")),
        (
            UNLABELLED_EDGE,
            "k1",
            gpus.edit_answer("gpu.nodes", lambda nodes: [node["metadata"]["labels"].pop(PRODUCT) for node in nodes]),
            ("failed", "missing"),
        ),
        (WAITING, "k1", {}, ("ok", "nothing")),
        (
            WAITING,
            "k1",
            edit_answer("pods.pending", CLUSTER, "of-users", "Insufficient cpu", "Insufficient nvidia.com/gpu"),
            ("failed", "default/web-a"),
        ),
    ],
)
def test_conditions_are_judged_by_their_facts(
    id: str, location: str, answers: Answers, expected: tuple[str, str]
) -> None:
    world = snapshot(location)
    assert summarize(evaluate(id, replace(world, answers={**world.answers, **answers}), location)) == expected
