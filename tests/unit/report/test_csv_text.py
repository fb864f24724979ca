"""A cell of CSV is a line of text or a number, and no formula."""

import csv
import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.report.csv_text import write_cell, write_csv

FORMULAS = (
    '=HYPERLINK("https://evil.example","NVIDIA H100")',
    "+1+1", "-2+3", "@SUM(1)", "\t=1", "\r=1", " =1", "'=1", "\n=1", "\uff1d1",
    "-cmd|' /C calc'!A0", '"=1', "-1e", "--1",
)  # fmt: skip


def read_back(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_is_a_formula(text: str) -> None:
    assert write_cell(text).startswith("'")


@pytest.mark.parametrize("formula", FORMULAS)
def test_no_part_of_a_cell_is_a_formula_for_a_reader_of_semicolons(formula: str) -> None:
    """LibreOffice separates by semicolons unless told otherwise, Excel where the decimal sign is a comma."""
    for text in (f"x;{formula}", f"a,b;{formula}", f'"x;{formula}', f"x;;{formula}"):
        row = write_csv(["a", "b"], [[text, "1"]], str).splitlines()[1]
        fields = [field for line in csv.reader([row], delimiter=";") for field in line] + row.split(";")
        assert not any(re.match(r"[\s\"]*[=+\-@\uff1d]", field) for field in fields), row


@pytest.mark.parametrize(
    "text", ["-1", "-12.50", "+3", "1e-3", "-1.5E+10", "NVIDIA H100 80GB", "n1", "", "a=b", "10.0.0.1", "a; b"]
)
def test_numbers_and_texts_stay(text: str) -> None:
    assert write_cell(text) == text


@given(st.lists(st.lists(st.text(), min_size=3, max_size=3), max_size=4))
def test_a_row_is_a_line(rows: list[list[str]]) -> None:
    output = write_csv(["a", "b", "c"], rows, str)
    assert output.isprintable() or set(filter(lambda char: not char.isprintable(), output)) == {"\n"}
    assert output.count("\n") == len(rows) + 1
    table = read_back(output)
    assert [len(row) for row in table] == [3] * (len(rows) + 1)
    for row in table[1:]:
        for cell in row:
            assert cell[:1] not in "=+-@" or not cell or float(cell) is not None
