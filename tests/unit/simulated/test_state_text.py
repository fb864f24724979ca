import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack_lab.simulated.state_text import FACTS, Gpu, State, parse, render

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True)
VALUES = st.text(st.characters(codec="utf-8", exclude_categories=("Z", "C"), exclude_characters="="), min_size=1)
NEEDED_FIELDS = st.fixed_dictionaries(
    {"uuid": VALUES, "bus": VALUES, "minor": st.integers(0, 255).map(str), "name": VALUES},
    optional={"mem": VALUES, "cc": VALUES, "mig": VALUES},
)
GPUS = st.builds(Gpu, NEEDED_FIELDS, st.dictionaries(NAMES.filter(lambda name: name not in FACTS), VALUES))
STATES = st.builds(State, st.just("595.91.07"), st.integers(0, 99999), st.lists(GPUS, max_size=4).map(tuple))

TEXT = """\
driver 595.91.07
cuda 13020
fabric none
gpu uuid=GPU-1 bus=0000:17:00.0 minor=0 name=NVIDIA_H100_80GB_HBM3 mem=81559 temp=92 lost=1
"""


@given(STATES)
def test_what_is_written_is_read_as_it_was(state: State) -> None:
    assert parse(render(state)) == state


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        state = parse(text)
    except ValueError:
        return
    assert parse(render(state)).gpus == state.gpus


def test_facts_and_what_is_set_are_apart_and_unknown_lines_are_kept() -> None:
    state = parse(TEXT)
    (gpu,) = state.gpus
    assert (gpu.name, gpu.minor) == ("NVIDIA H100 80GB HBM3", 0)
    assert gpu.live == {"temp": "92", "lost": "1"}
    assert state.unknown_lines == ("fabric none",)
    assert render(state) == TEXT


def test_a_text_that_is_being_made_shorter_reads_the_same() -> None:
    assert parse(TEXT + "\n\n\n") == parse(TEXT)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("gpu uuid=1 bus=2 minor=0", "line 2: a GPU without name"),
        ("gpu uuid=1 bus=2 minor=x name=n", "line 2: invalid literal"),
        ("gpu uuid=1 bus=2 minor=0 name=n temp", "line 2: 'temp' is not KEY=VALUE"),
        ("gpu uuid=1 bus=2 minor=0 name=n temp=1 temp=2", "line 2: temp stands twice"),
        ("cuda many", "line 2: invalid literal"),
    ],
)
def test_what_cannot_be_read_is_named(line: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse(f"driver 1\n{line}\n")


def test_a_state_without_a_driver_is_refused() -> None:
    with pytest.raises(ValueError, match="driver VERSION"):
        parse("")
