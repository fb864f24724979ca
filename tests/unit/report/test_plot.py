"""Axes of plots: their labels lie within the picture, and their ends are round."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.report.profile.plot import DIGIT, ROUND_STEPS, Line, Plot, round_up
from gpustack.vocabulary.amounts import UNIT_FORMATS


@pytest.mark.parametrize("unit", UNIT_FORMATS)
@pytest.mark.parametrize("highest", [0.0, 0.3, 7.0, 709.5, 123_456.0])
def test_a_label_begins_within_the_picture(unit: str, highest: float) -> None:
    svg = Plot("", unit, 60.0, (Line("", [0.0, highest * UNIT_FORMATS[unit][0]], 0),)).svg
    labels = re.findall(r'<text x="(\d+)" y="[\d.]+" text-anchor="end">([^<]+)</text>', svg)
    assert len(labels) == 3
    assert min(int(end) - DIGIT * len(label) for end, label in labels) >= 0


@given(st.floats(1e-6, 1e15), st.sampled_from([1.0, 1e9, 2.0**30]))
def test_an_axis_ends_at_a_round_number_not_far_above(value: float, scale: float) -> None:
    end = round_up(value, scale)
    assert value * (1 - 1e-6) <= end <= value * 1.4
    digits = float(f"{end / scale:.6e}".split("e")[0])
    assert digits in ROUND_STEPS


def test_an_axis_of_nothing_ends_at_one() -> None:
    assert Plot("", "bytes", 60.0, (Line("", [0.0], 0),)).top == 2.0**30
