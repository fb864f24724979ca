"""Tables: a row is a line, unless a terminal is too narrow for it."""

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal

HEADINGS = ("NODE", "POD")
CELLS = st.text(st.characters(categories=("L", "N", "P")), max_size=12)


def render_rows(rows: list[tuple[str, ...]], **settings: Any) -> list[str]:
    stream = io.StringIO()
    console = Terminal(stream, **settings)
    console.print(draw_table(console, HEADINGS, rows))
    return stream.getvalue().splitlines()


def test_in_a_pipe_a_row_is_one_line_however_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert render_rows([("n1", "p" * 200), ("n22", "q")]) == ["NODE  POD", f"n1    {'p' * 200}", "n22   q"]


def test_a_terminal_folds_what_is_too_wide() -> None:
    lines = render_rows([("n1", "p" * 30)], width=20)
    assert all(len(line) <= 20 for line in lines)
    assert sum(line.count("p") for line in lines) == 30


def test_a_width_that_was_set_counts_in_a_pipe_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    assert all(len(line) <= 20 for line in render_rows([("n1", "p" * 30)]))


@pytest.mark.parametrize("width", [24, 80])
def test_no_line_ends_with_blanks(width: int) -> None:
    lines = render_rows([("n1", "short"), ("n2", "-"), ("n3", "a pod of a long name")], width=width)
    assert [line for line in lines if line != line.rstrip()] == []


def test_without_rows_there_are_headings() -> None:
    assert render_rows([]) == ["NODE  POD"]


@settings(max_examples=40)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=6))
def test_each_row_is_a_line_with_its_cells(rows: list[tuple[str, ...]]) -> None:
    lines = render_rows(rows, width=80)
    assert len(lines) == len(rows) + 1
    assert all(cell in line for row, line in zip(rows, lines[1:], strict=True) for cell in row)


@given(st.lists(st.tuples(st.text(max_size=12), st.text(max_size=12)), min_size=1, max_size=4))
def test_a_row_is_one_line_whatever_its_cells_hold(rows: list[tuple[str, ...]]) -> None:
    """A label with a newline would move a column down, so that a fault stood beside another GPU."""
    assert len(render_rows(rows, width=200)) == len(rows) + 1


def test_a_newline_in_a_label_moves_no_column() -> None:
    lines = render_rows([("gpu0\nspare", "ok"), ("gpu1", "Xid 79")], width=200)
    assert lines == ["NODE        POD", "gpu0 spare  ok", "gpu1        Xid 79"]


def test_words_are_whole_where_a_terminal_is_narrow() -> None:
    rows: list[tuple[str, ...]] = [("n1", "team-a/train-0"), ("n2", "a long name of a model")]
    assert render_rows(rows, width=22) == ["NODE  POD", "n1    team-a/train-0", "n2    a long name of a", "      model"]


def test_a_row_is_a_block_where_its_words_do_not_fit() -> None:
    rows: list[tuple[str, ...]] = [("gpu-node-1", "team-a/train-0"), ("gpu-node-2", "")]
    assert render_rows(rows, width=20) == ["NODE  gpu-node-1", "POD   team-a/train-0", "", "NODE  gpu-node-2"]


def test_no_cell_is_cut_where_a_column_gives_way() -> None:
    rows: list[tuple[str, ...]] = [("team-a/cache-8488fccc77-xkwtd", "refused: its emptyDir data, fast, is lost")]
    lines = render_rows(rows, width=44)
    assert " ".join(" ".join(lines).split()).replace("NODE POD ", "") == (
        "team-a/cache-8488fccc77-xkwtd refused: its emptyDir data, fast, is lost"
    )
