"""The driver container leaves the cluster by objects that the check compares."""

from dataclasses import replace
from pathlib import Path

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.ask.view import View
from gpustack.steps.gpu.operator import driver_egress
from tests.unit.config.specs import build_inventory
from tests.unit.steps.test_pod_egress import write_spec
from tests.worlds.snapshots.answers import make_answer, place_answers
from tests.worlds.snapshots.gpus import BARE, build_snapshot


@pytest.mark.parametrize(
    ("answer", "actual"),
    [
        ("", "gpustack-driver-proxy missing; gpustack-driver-ca missing"),
        ("gpustack-driver-proxy other\ngpustack-driver-ca same\n", "gpustack-driver-proxy with different content"),
        ("gpustack-driver-proxy same\ngpustack-driver-ca same\n", None),
    ],
)
def test_objects_of_the_driver_that_differ_are_drift(tmp_path: Path, answer: str, actual: str | None) -> None:
    answers = {**BARE, **place_answers("k1", make_answer("egress.pods", answer))}
    snapshot = build_snapshot(answers, spec=write_spec(tmp_path))
    result = driver_egress(View(snapshot, CLUSTER))
    assert (result.actual if result else None) == actual
    plain_snapshot = replace(snapshot, inventory=replace(snapshot.inventory, spec=build_inventory().spec))
    assert driver_egress(View(plain_snapshot, CLUSTER)) is None
