"""Lines of a panel have names of their own, also where a board has several MIG instances of one profile."""

import json
import re
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parents[2] / "values" / "dashboards").glob("*.json"))
GROUPING = re.compile(r"by \(([^)]*)\)")


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


def test_a_figure_of_the_board_is_one_line_of_a_job() -> None:
    """A pod with one instance would see the power of the whole board once for each instance of it."""
    (file,) = (path for path in FILES if path.stem == "gpu-job")
    board_lines = [expr for title, expr, _ in list_lines(file) if title in ("Power", "Slowed by", "Xid errors")]
    assert len(board_lines) == 4
    assert [expr for expr in board_lines if "GPU_I_ID" in GROUPING.findall(expr)[0]] == []
