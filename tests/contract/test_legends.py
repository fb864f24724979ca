"""Lines of a panel have names of their own, also where a board has several MIG instances of one profile."""

import json
import re
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[2] / "values" / "dashboards").glob("*.json"))
GROUPING = re.compile(r"by \(([^)]*)\)")
BOARD_FIGURE = re.compile(
    r"gpustack:gpu_(\w*temperature|power|\w*clock|energy|throttle|pcie|nvlink|ecc|xid_errors|\w*remap|retired|fabric)\w*:"
)


def list_lines(file: Path) -> list[tuple[str, str, str]]:
    """List title, expression and legend of what is drawn for each GPU."""
    return [
        (panel["title"], target["expr"], target["legendFormat"])
        for panel in json.loads(file.read_text())["panels"]
        for target in panel.get("targets", [])
        if "{{gpu}}" in target["legendFormat"]
    ]


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_legend_names_the_instance_where_its_series_have_one(file: Path) -> None:
    """A series without a grouping has all labels of the GPU."""
    nameless_lines = [
        title
        for title, expr, legend in list_lines(file)
        if "{{GPU_I_ID}}" not in legend and ("GPU_I_ID" in groups[0] if (groups := GROUPING.findall(expr)) else True)
    ]
    assert nameless_lines == []


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_figure_of_the_board_is_one_line_of_it(file: Path) -> None:
    """The exporter repeats it for each MIG instance, and each would seem to draw the power of the whole board."""
    board_lines = [(title, expr) for title, expr, _ in list_lines(file) if BOARD_FIGURE.search(expr)]
    assert [title for title, expr in board_lines if "GPU_I_ID" in GROUPING.findall(expr)[0]] == []
    assert board_lines or file.stem in {"gpu-capacity", "gpu-cost"}
