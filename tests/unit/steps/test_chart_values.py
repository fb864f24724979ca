"""Layers of Helm values are merged as Helm merges its files."""

from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gpustack.steps.chart_values import merge_values
from tests.unit.steps.value_layers import layers


def test_maps_merge_lists_are_replaced_null_stays() -> None:
    chart_values = {"a": {"x": 1, "y": [1, 2]}, "b": {"c": 1}, "d": 1}
    computed_values = {"a": {"y": [3]}}
    given_values = {"a": {"z": None}, "b": 5, "d": {"e": 1}}
    assert merge_values(chart_values, computed_values, given_values) == {
        "a": {"x": 1, "y": [3], "z": None},
        "b": 5,
        "d": {"e": 1},
    }


@given(st.lists(layers, max_size=4))
def test_layers_are_left_as_they_are(parts: list[dict[str, Any]]) -> None:
    before = deepcopy(parts)
    merge_values(*parts)
    assert parts == before


@given(layers, layers, layers)
def test_layers_merge_one_after_the_other(first: Any, second: Any, third: Any) -> None:
    """Helm takes its files from the first on: a null or a number between two maps parts them for good."""
    assert merge_values(merge_values(first, second), third) == merge_values(first, second, third)


@given(layers)
def test_nothing_is_neutral(part: dict[str, Any]) -> None:
    assert merge_values(part, {}) == merge_values({}, part) == merge_values(part, part) == part
