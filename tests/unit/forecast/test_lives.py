"""How often a pool of a drawn life fills within the stated interval: a world by another hand than the models'.

70 lives of three pools are slow; LIVES=1000-1069 draws others, ACCURACY_WRITE=FILE writes a table of docs/forecast.md.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median

import pytest

from gpustack.forecast.outlook import Outlook, Terms
from gpustack.forecast.pool import PoolForecast, forecast_pool
from tests.worlds.life.draw import draw
from tests.worlds.life.pools import Pool, read_pools

AFTER, LEAD = 90, 30
FIRST, LAST = map(int, os.environ.get("LIVES", "0-69").split("-"))


@dataclass(frozen=True)
class Judged:
    pool: Pool
    found: PoolForecast

    @property
    def outlook(self) -> Outlook:
        assert self.found.outlook is not None
        return self.found.outlook

    @property
    def interval(self) -> tuple[int, int]:
        """Beyond the horizon is one day more."""
        return self.outlook.fills.first or AFTER + 1, self.outlook.fills.last or AFTER + 1

    @property
    def inside(self) -> bool:
        return self.interval[0] <= (self.pool.find_full() or AFTER + 1) <= self.interval[1]

    @property
    def served(self) -> bool:
        assert self.outlook.at_lead
        return self.pool.highest(LEAD) <= self.outlook.at_lead.p90


def judge(seeds: Iterable[int], *, queue: bool = True) -> list[Judged]:
    pools = (pool for seed in seeds for pool in read_pools(draw(seed, beyond=AFTER), queue=queue))
    return [Judged(pool, forecast_pool(pool.demand, Terms(LEAD, AFTER))) for pool in pools]


def made(judged: Sequence[Judged]) -> list[Judged]:
    return [one for one in judged if one.found.outlook]


def not_yet(judged: Sequence[Judged]) -> list[Judged]:
    """Of pools that were not full in the last two weeks, which is easy to go on with."""
    return [one for one in judged if not one.found.full]


def test_pools_fill_within_the_interval() -> None:
    judged = judge(range(3))
    assert fmean(one.inside for one in made(judged)) >= 0.8
    assert len(made(judged)) >= 0.7 * len(judged)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_so_do_those_of_many_lives() -> None:
    seen = judge(range(FIRST, LAST + 1))
    hidden = judge(range(FIRST, LAST + 1), queue=False)
    write(seen, hidden)
    for judged in (seen, hidden):
        assert fmean(one.inside for one in made(judged)) >= 0.8
        assert fmean(one.inside for one in made(not_yet(judged))) >= 0.8
        assert fmean(one.served for one in made(not_yet(judged))) >= 0.8
    assert len(made(seen)) >= 0.7 * len(seen)


def write(seen: Sequence[Judged], hidden: Sequence[Judged]) -> None:
    if not (where := os.environ.get("ACCURACY_WRITE")):
        return
    later = [one for one in not_yet(seen) if one.pool.find_full()]
    rows = {
        "all": seen,
        "full in the last 14 days already": [one for one in seen if one.found.full],
        "not yet full": not_yet(seen),
        "not yet full, and it was within 90 days": later,
        "as with `--nodes`: who waits is not known": hidden,
    }
    Path(where).write_text("".join(row(name, judged) for name, judged in rows.items()))


def row(name: str, judged: Sequence[Judged]) -> str:
    sure = made(judged)
    widths = [one.interval[1] - one.interval[0] + 1 for one in sure]
    inside = f"{sum(one.inside for one in sure)} of {len(sure)}"
    served = f"{sum(one.served for one in sure)} of {len(sure)}"
    cells = (name, len(judged), len(judged) - len(sure), inside, f"{median(widths):.0f}" if widths else "", served)
    return f"| {' | '.join(map(str, cells))} |\n"
