"""Rows wrap below their own beginning, and numbers stay with their units."""

import io

from hypothesis import given
from hypothesis import strategies as st

from gpustack.report.hanging import LEAST_WIDTH, Row, print_rows, wrap_text
from gpustack.report.terminal import Terminal


def test_further_lines_begin_where_the_text_does() -> None:
    text = "The power limit holds the clocks down for 97 % of the time: usual at full load."
    console = Terminal(io.StringIO(), width=60)
    print_rows(console, [Row(text, "  note         "), Row(), Row("end")])
    assert console.file.getvalue() == (  # type: ignore[attr-defined]
        "  note         The power limit holds the clocks down for\n"
        "               97 % of the time: usual at full load.\n\nend\n"
    )


def test_a_number_stays_with_its_unit() -> None:
    assert wrap_text("power 349 of 350 W, clock 1,152 of 1,980 MHz", "", 26) == [
        "power 349 of 350 W, clock",
        "1,152 of 1,980 MHz",
    ]


def test_a_mark_stays_with_its_word() -> None:
    assert wrap_text("^ copied: of a whole device; ~ derived: computed", "", 31) == [
        "^ copied: of a whole device;",
        "~ derived: computed",
    ]


@given(st.text(st.characters(categories=["L", "N"]) | st.just(" ")), st.text(max_size=20).filter(str.isprintable))
def test_no_word_is_lost_or_cut(text: str, heading: str) -> None:
    lines = wrap_text(text, heading, 60)
    assert " ".join(line[len(heading) :] for line in lines).split() == text.split()
    room = max(60, len(heading) + LEAST_WIDTH)
    assert all(len(line) <= room or len(line[len(heading) :].split()) <= 2 for line in lines)
