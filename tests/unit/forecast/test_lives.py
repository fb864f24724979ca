"""How often a pool of a drawn life fills within the stated interval: a world by another hand than the models'.

Many lives are slow; LIVES=1000-1069 draws others, ACCURACY_WRITE=FILE writes a table of docs/forecast.md.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median

import pytest

from gpustack.forecast.outlook import Outlook, Terms
from gpustack.forecast.pool import PoolForecast, forecast_pool
from tests.unit.forecast.pools import Pool, find_peak, read_pools
from tests.worlds.life.draw import Life, draw

AFTER, LEAD = 90, 30
ALL = "of a resource"
READ: Mapping[str, Callable[[Life], list[Pool]]] = {
    ALL: read_pools,
    "the same, 30 days of history": partial(read_pools, history=30),
    "of a model, with `--nodes`": partial(read_pools, by_model=True),
}
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
        beyond = self.outlook.horizon + 1
        return self.outlook.fills.first or beyond, self.outlook.fills.last or beyond

    @property
    def inside(self) -> bool:
        beyond = self.outlook.horizon + 1
        return self.interval[0] <= min(self.pool.find_full() or beyond, beyond) <= self.interval[1]

    def serves(self, hours: tuple[float, ...]) -> bool:
        """Whether what there is and what is ordered is enough at the lead time."""
        assert self.outlook.order is not None
        assert self.found.limit is not None
        return find_peak(hours, LEAD) <= self.found.limit + self.outlook.order

    @property
    def below(self) -> bool:
        assert self.outlook.at_lead
        return find_peak(self.pool.wanted, LEAD) <= self.outlook.at_lead.p90


def judge(seeds: Iterable[int], names: Iterable[str] = READ) -> dict[str, list[Judged]]:
    rows: dict[str, list[Judged]] = {name: [] for name in names}
    for seed in seeds:
        life = draw(seed, beyond=AFTER)
        for name, row in rows.items():
            row += [Judged(pool, forecast_pool(pool.demand, Terms(LEAD, AFTER))) for pool in READ[name](life)]
    return rows


def made(judged: Sequence[Judged]) -> list[Judged]:
    return [one for one in judged if one.found.outlook]


def not_yet(judged: Sequence[Judged]) -> list[Judged]:
    """Of pools that were not full in the last two weeks, which is easy to go on with."""
    return [one for one in judged if not one.found.full]


def test_pools_fill_within_the_interval() -> None:
    """Of a few: how many have a forecast at all, only many lives say."""
    inside = [one.inside for one in made(judge(range(2), [ALL])[ALL])]
    assert inside
    assert fmean(inside) >= 0.8


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_so_do_those_of_many_lives() -> None:
    rows = judge(range(FIRST, LAST + 1))
    write(rows)
    for judged in rows.values():
        assert fmean(one.inside for one in made(judged)) >= 0.8
        assert fmean(one.inside for one in made(not_yet(judged))) >= 0.8
        assert fmean(one.below for one in made(not_yet(judged))) >= 0.75
    forecasts = len(made(rows[ALL]))
    assert forecasts >= 0.7 * len(rows[ALL])


def write(rows: dict[str, list[Judged]]) -> None:
    if not (where := os.environ.get("ACCURACY_WRITE")):
        return
    judgedses = dict(rows)
    judgedses["of a resource, not full before"] = not_yet(rows[ALL])
    judgedses["and it was within 90 days"] = [one for one in not_yet(rows[ALL]) if one.pool.find_full()]
    Path(where).write_text("".join(map(row, judgedses, judgedses.values())))


def row(name: str, judged: Sequence[Judged]) -> str:
    sure = made(judged)
    reasons = Counter(one.found.reason for one in judged if one.found.reason)
    refused = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or "0"
    widths = [one.interval[1] - one.interval[0] + 1 for one in sure]
    right = ([one.inside for one in sure], [one.below for one in sure])
    enough = [one.serves(one.pool.asked) for one in sure]
    shares = [f"{sum(some)} of {len(some)}" for some in (*right, enough)]
    cells = (name, len(judged), refused, shares[0], f"{median(widths):.0f}" if widths else "", *shares[1:])
    return f"| {' | '.join(map(str, cells))} |\n"
