"""Helm merges values as we do: one merged file gives what several `--values` give."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpustack.steps.chart_values import merge_values
from tests.helm import run_helm
from tests.unit.steps.value_layers import layers


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chart that prints the values it gets; its own are what layers are laid upon."""
    chart = tmp_path_factory.mktemp("tiny")
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: tiny, version: 1.0.0}")
    (chart / "values.yaml").write_text("{a: {b: 1, c: {d: [1]}}, b: {a: x}, c: [1], d: 0}")
    (chart / "templates").mkdir()
    (chart / "templates" / "said.yaml").write_text("said: {{ toJson .Values }}\n")
    return chart


def render_chart(chart: Path, folder: Path, parts: list[dict[str, Any]]) -> tuple[str, str]:
    """Render a chart with our one merged file, and with a file for each part."""
    files: list[str | Path] = []
    for index, part in enumerate(parts):
        file = folder / f"{index}.json"
        file.write_text(json.dumps(part))
        files += ["--values", file]
    whole_file = folder / "whole.json"
    whole_file.write_text(json.dumps(merge_values(*parts)))
    return run_helm("template", "x", chart, "--values", whole_file), run_helm("template", "x", chart, *files)


def test_null_takes_the_default_of_the_chart_away(tiny: Path, tmp_path: Path) -> None:
    parts: list[dict[str, Any]] = [{"a": {"b": 2}}, {"a": {"b": None, "c": {"d": None, "e": 1}}}, {"b": None}]
    merged_text, helms = render_chart(tiny, tmp_path, parts)
    assert merged_text == helms
    assert json.loads(merged_text.splitlines()[-1].removeprefix("said: ")) == {"a": {"c": {"e": 1}}, "c": [1], "d": 0}


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(parts=st.lists(layers, min_size=2, max_size=3))
def test_one_file_is_to_helm_what_all_are(tiny: Path, tmp_path: Path, parts: list[dict[str, Any]]) -> None:
    merged_text, helms = render_chart(tiny, tmp_path, parts)
    assert merged_text == helms
