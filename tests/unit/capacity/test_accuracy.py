"""Hours and bills of drawn lives of 60 days, against what has been: GPU-hours within 0.5 %, idle ones within 2 %; those
of a namespace within 5 %, because a minute in which one of two monitors sees work is not idle (docs/capacity.md).

200 lives are slow; LIVES=1000-1200 draws others, `ACCURACY_WRITE=FILE` writes the table of docs/capacity.md.
"""

import os
from dataclasses import fields
from pathlib import Path
from statistics import median

import pytest

from tests.worlds.life.draw import draw
from tests.worlds.life.judged import LIMITS, Errors, find_wrong, judge
from tests.worlds.life.recorded import record

pytestmark = pytest.mark.long

FEW = range(4)
FIRST, LAST = map(int, os.environ.get("LIVES", "0-199").split("-"))
ALL_SEEDS = range(FIRST, LAST + 1)


def judge_life(seed: int) -> Errors:
    life = draw(seed, small=True)
    return judge(life, record(life).build_source())


@pytest.mark.parametrize("seed", FEW)
def test_hours_and_money_are_what_has_been(seed: int) -> None:
    assert find_wrong(judge_life(seed)) == {}


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_hours_and_money_are_right_in_many_lives() -> None:
    judgeds = {seed: judge_life(seed) for seed in ALL_SEEDS}
    write([*judgeds.values()])
    assert {seed: wrong_values for seed, errors in judgeds.items() if (wrong_values := find_wrong(errors))} == {}


def write(lives: list[Errors]) -> None:
    if not (target := os.environ.get("ACCURACY_WRITE")):
        return
    names = [field.name for field in fields(Errors) if field.name != "uneven_cents"]
    rows = {name: [getattr(life, name) for life in lives] for name in names}
    lines = [f"| {name} | {median(row):.3%} | {max(row):.3%} | {LIMITS[name]:.1%} |\n" for name, row in rows.items()]
    Path(target).write_text("".join(lines))
