"""An alert leaves out only what is of the same thing, and more than one field stands for a GPU."""

import re
from collections.abc import Iterator
from typing import Any

import promql_parser
import pytest

from gpustack.vocabulary.labels import HEARD_OF
from tests.contract.promql import list_metrics, read_rules, walk_tree

ALERTS, RECORDING = read_rules("gpu-alerts.yaml"), read_rules("gpu-recording.yaml")
# They follow from the UUID.
OF_THE_BOARD = {"gpu", "modelName", "GPU_I_PROFILE"}
TEMPERATURE = "gpustack:gpu_temperature:celsius"
OF_HEAT = {"GpuNearSlowdown", "GpuNearShutdown"}


def find_loose_exclusions(expr: str) -> Iterator[str]:
    """Find `unless on (…)` that leaves out too much: what one GPU says silences another, or one code of a verdict
    another code, because a label by which the alert is told apart is not compared."""
    for tree in walk_tree(promql_parser.parse(expr)):
        if isinstance(tree, promql_parser.AggregateExpr) and tree.modifier:
            told_apart_by = set(tree.modifier.labels) - OF_THE_BOARD
            yield from (str(node) for node in walk_tree(tree) if is_loose(node, told_apart_by))


def is_loose(node: Any, told_apart_by: set[str]) -> bool:
    if not isinstance(node, promql_parser.BinaryExpr) or str(node.op) != "unless":
        return False
    if not node.modifier or not node.modifier.matching:
        return False
    missing_labels = told_apart_by - set(node.modifier.matching.labels)
    names = list_metrics(node.rhs)
    of_gpus = any(name.startswith(("gpustack:gpu_", "gpustack:gpu:")) for name in names)
    return bool((of_gpus and "UUID" in missing_labels) or (names & list_metrics(node.lhs) and missing_labels))


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_what_an_alert_leaves_out_is_compared_by_all_that_tells_it_apart(rule: dict[str, str]) -> None:
    assert list(find_loose_exclusions(rule["expr"])) == []


@pytest.mark.parametrize(
    "expr",
    [
        "max by (node, UUID, code) (gpustack:gpu_health:status unless on (node, UUID) gpustack:gpu_health:status == 1)",
        "max by (node, UUID) (gpustack:gpu_power:watts > 5 unless on (node) gpustack:gpu_active:ratio > 0)",
    ],
)
def test_the_linter_sees_an_exclusion_of_too_much(expr: str) -> None:
    assert list(find_loose_exclusions(expr))


def has_lone_field(expr: str) -> bool:
    """Tell whether an expression takes the temperature for the GPU, which a guest of a vGPU does not have."""
    first, second = (len(re.findall(rf"\b{name}\b", expr)) for name in HEARD_OF)
    return first > second


def test_no_single_field_stands_for_a_gpu() -> None:
    lone = {rule["record"] for rule in RECORDING if has_lone_field(rule["expr"])}
    assert lone == {TEMPERATURE}
    assert {rule["alert"] for rule in ALERTS if TEMPERATURE in rule["expr"]} == OF_HEAT
    assert has_lone_field("count by (Hostname) (DCGM_FI_DEV_GPU_TEMP)")
