"""Operands of an alert hide no other, a verdict is silenced by one on the same thing alone, and no single field stands
for a GPU."""

import promql_parser
import pytest

from gpustack.vocabulary.fields import list_spellings
from gpustack.vocabulary.labels import HEARD_OF
from tests.contract.operands import (
    find_coarse_exclusions,
    find_counted_fields,
    find_mere_values,
    find_shared_comparisons,
)
from tests.contract.promql import list_metrics, read_rules

ALERTS, RECORDING = read_rules("gpu-alerts.yaml"), read_rules("gpu-recording.yaml")
TEMPERATURES, MEMORY = (list_spellings(frozenset({field})) for field in HEARD_OF)
PRESENCE = {"GpuLost", "GpuProfilingMissing"}
"""Series that are there, or were, are what these alerts tell of."""
COARSE = {
    "GpuHealthFail": {"GPU_I_ID": "DCGM judges a board"},
    "GpuHealthWarn": {"GPU_I_ID": "DCGM judges a board"},
    "GpuIdlePowerHigh": {"GPU_I_ID": "a board with one busy instance draws power"},
    "GpuJobHung": {"GPU_I_ID": "power is of the board"},
    "GpuLost": {"node": "a GPU that was moved to another node is not lost"},
    "GpuNearShutdown": {"GPU_I_ID": "heat is of the board"},
    "GpuNearSlowdown": {"GPU_I_ID": "heat is of the board"},
    "GpuProfilingMissing": {"GPU_I_ID": "of a board with MIG the instances have the fields"},
}
"""Labels by which an `unless` does not join on purpose."""
COUNTS_OF_SOME = {
    "gpustack:node_gpu_attributed:count": "GPUs with a pod, which the label tells",
    "gpustack:job_gpus:count": "GPUs of a job that have the signal by which they are compared",
    "gpustack:node_model_pcie_lanes:quantile25": "siblings whose lanes are known",
    "gpustack:node_model_pcie_generation:quantile25": "siblings whose generation is known",
    "gpustack:gpu_held:ratio": "pods that share a GPU",
    "gpustack:node_usage_attributed:count": "GPUs that a pod holds",
    "GpuXidFollowsGpu": "pods with an Xid",
    "GpuUnderused": "pods that share a GPU",
    "gpustack:gpu_verdict:rank": "signs of a fault, which a GPU that is well has none of",
    "gpustack:xid_nodes:count": "nodes with the same Xid",
    "gpustack:node_gpus_faulty:count": "GPUs with a fault of their own",
}
"""Counts of series that are not meant to be all GPUs."""


def test_each_operand_of_or_has_its_own_comparison() -> None:
    assert [rule["alert"] for rule in ALERTS if find_shared_comparisons(rule["expr"])] == []
    assert {rule["alert"] for rule in ALERTS if find_mere_values(rule["expr"])} == PRESENCE


@pytest.mark.parametrize(
    "expr",
    [
        "max by (node) (increase(a[1m]) or b - c) > 0",
        "(a or b) / c > 0",
        "max_over_time((a or b)[5m:1m]) > 0",
        "0 < sum(a > 1 or b)",
    ],
)
def test_the_linter_sees_a_shared_comparison(expr: str) -> None:
    assert find_shared_comparisons(expr)
    assert find_shared_comparisons("max by (node) (increase(a[1m]) > 0 or b - c > 0) == 1") == []


def test_the_linter_sees_an_operand_without_a_comparison() -> None:
    assert find_mere_values("a > 1 or increase(b[1m])") == ["increase(b{}[1m])"]


def test_an_exclusion_is_of_the_same_thing() -> None:
    coarse_labels = {rule["alert"]: labels for rule in ALERTS if (labels := find_coarse_exclusions(rule["expr"]))}
    assert coarse_labels == {alert: set(labels) for alert, labels in COARSE.items()}


def test_the_linter_sees_an_exclusion_of_another_thing() -> None:
    health = "gpustack:gpu_health:status"
    assert "health_error_code" in find_coarse_exclusions(
        f"{health} == 20 unless on (node, UUID, GPU_I_ID, health_watch) {health} offset 1h == 20"
    )
    assert find_coarse_exclusions("gpustack:gpu:info unless on (node) gpustack:gpu_power:watts") == {"UUID", "GPU_I_ID"}
    assert find_coarse_exclusions("gpustack:gpu:info unless on (node) gpustack:node_ready:bool") == set()


def test_no_field_stands_for_a_gpu() -> None:
    """The guest of a vGPU has no temperature; where one makes a GPU heard of, memory in use does so beside it."""
    for rule in RECORDING:
        metrics = list_metrics(promql_parser.parse(rule["expr"]))
        if rule["record"] != "gpustack:gpu_temperature:celsius" and metrics & set(TEMPERATURES):
            assert metrics >= {*TEMPERATURES, *MEMORY}, rule["record"]
    hot = {
        rule["alert"]
        for rule in ALERTS
        if "gpustack:gpu_temperature:celsius" in list_metrics(promql_parser.parse(rule["expr"]))
    }
    assert hot == {"GpuNearSlowdown", "GpuNearShutdown"}


def test_gpus_are_counted_by_what_makes_them_heard_of() -> None:
    """A count of another field's series leaves out the GPUs that do not have it."""
    names = {rule.get("record") or rule["alert"]: find_counted_fields(rule["expr"]) for rule in RECORDING + ALERTS}
    heard_of = {*TEMPERATURES, *MEMORY}
    assert {name for name, fields in names.items() if fields and fields != heard_of} == COUNTS_OF_SOME.keys()
    assert find_counted_fields("count by (node) (gpustack:gpu_power:watts)") == {"gpustack:gpu_power:watts"}
    assert find_counted_fields("count by (node) (gpustack:gpu:info)") == set()
