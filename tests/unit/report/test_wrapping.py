"""Texts of a report are wrapped without blanks at the ends of their lines, which a diff or a ticket would show."""

import pytest

from gpustack.report.findings import print_field, print_text
from gpustack.report.terminal import Terminal

FACTS = "seen: 2 of 2 nodes Ready, 22 of 22 pods of gpu-operator, monitoring ready, 4 GPUs allocatable"


@pytest.mark.parametrize("width", range(20, 60))
def test_no_line_ends_with_a_blank(width: int) -> None:
    with (console := Terminal(width=width)).capture() as capture:
        print_text(console, FACTS, "green")
        print_field(console, "seen", FACTS, 6)
    lines = capture.get().splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    assert " ".join(capture.get().split()).count(FACTS) == 2


def test_a_newline_is_kept_and_its_line_indented() -> None:
    with (console := Terminal(width=40)).capture() as capture:
        print_text(console, "\nfirst\nsecond\n\nlast")
    assert capture.get() == "\nfirst\n  second\n\n  last\n"
