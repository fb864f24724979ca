"""A basis for each number in the reports of GPUs, hours and costs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gpustack.vocabulary.basis import BASES

GOLDEN_FOLDER = Path(__file__).parents[2] / "golden"
ROWS = {
    "gpu-list": ("gpus",),
    "gpu-top": ("gpus", "pods"),
    "capacity": ("rows", "total", "queue", "current_state"),
    "cost": ("rows", "total", "budgets"),
}
UNKNOWN_FIGURES = {
    "hours of GPUs without a pod": {"active_gpu_hours", "idle_gpu_hours"},
    "a queue by team": {"scheduled_pod_count", "waited_seconds"},
}
"""Numbers of the documents that are 0 where nothing is known, and have no basis then."""


def list_objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        yield node
    for child in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from list_objects(child)


def list_numbers(node: dict[str, Any]) -> set[str]:
    return {name for name, value in node.items() if isinstance(value, int | float) and not isinstance(value, bool)}


@pytest.mark.parametrize("name", ROWS)
def test_each_number_of_a_row_has_a_basis(name: str) -> None:
    document = json.loads((GOLDEN_FOLDER / f"{name}.json").read_text())
    number_count = 0
    for node in list_objects([document[part] for part in ROWS[name]]):
        numbers, basis = list_numbers(node), node.get("basis", {})
        number_count += len(numbers)
        assert numbers - set(basis) in (set(), *UNKNOWN_FIGURES.values()), node
        assert set(basis.values()) <= set(BASES)
        assert {field for field in basis if node[field] is None} == set()
    assert number_count > 0
