"""A pool of a drawn life fills within the stated interval as often as it says: a world by another hand than the
models'. Many lives are slow; LIVES=1000-1069 draws others, ACCURACY_WRITE=FILE writes a table of docs/forecast.md."""

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

pytestmark = pytest.mark.long

AFTER, LEAD = 90, 30
ALL_POOLS = "of a resource"
READ: Mapping[str, Callable[[Life], list[Pool]]] = {
    ALL_POOLS: read_pools,
    "the same, 30 days of history": partial(read_pools, history=30),
    "of a model, with `--nodes`": partial(read_pools, by_model=True),
}
FIRST, LAST = map(int, os.environ.get("LIVES", "0-69").split("-"))


@dataclass(frozen=True)
class JudgedPool:
    pool: Pool
    forecast: PoolForecast

    @property
    def outlook(self) -> Outlook:
        assert self.forecast.outlook is not None
        return self.forecast.outlook

    @property
    def interval(self) -> tuple[int, int]:
        """The first and last day of the interval. A day after the horizon stands for never."""
        day_beyond = self.outlook.horizon + 1
        return self.outlook.fills.first or day_beyond, self.outlook.fills.last or day_beyond

    @property
    def covers_fill(self) -> bool:
        day_beyond = self.outlook.horizon + 1
        return self.interval[0] <= min(self.pool.find_full() or day_beyond, day_beyond) <= self.interval[1]

    def serves(self, hours: tuple[float, ...]) -> bool:
        """Tell whether what there is and what is ordered is enough at the lead time."""
        assert self.outlook.order is not None
        assert self.forecast.limit is not None
        return find_peak(hours, LEAD) <= self.forecast.limit + self.outlook.order

    @property
    def is_below_p90(self) -> bool:
        assert self.outlook.at_lead
        return find_peak(self.pool.gpus_wanted, LEAD) <= self.outlook.at_lead.p90


def judge(seeds: Iterable[int], names: Iterable[str] = READ) -> dict[str, list[JudgedPool]]:
    rows: dict[str, list[JudgedPool]] = {name: [] for name in names}
    for seed in seeds:
        life = draw(seed, future_days=AFTER)
        for name, row in rows.items():
            row += [JudgedPool(pool, forecast_pool(pool.demand, Terms(LEAD, AFTER))) for pool in READ[name](life)]
    return rows


def select_forecast(pools: Sequence[JudgedPool]) -> list[JudgedPool]:
    return [pool for pool in pools if pool.forecast.outlook]


def select_unfilled(pools: Sequence[JudgedPool]) -> list[JudgedPool]:
    """Select pools that were not full in the last two weeks, which are easy to predict."""
    return [pool for pool in pools if not pool.forecast.full]


def test_pools_fill_within_the_interval() -> None:
    """A few lives do not tell how many have a forecast at all."""
    covered_fills = [pool.covers_fill for pool in select_forecast(judge(range(2), [ALL_POOLS])[ALL_POOLS])]
    assert covered_fills
    assert fmean(covered_fills) >= 0.8


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_pools_of_many_lives_fill_within_the_interval() -> None:
    rows = judge(range(FIRST, LAST + 1))
    write(rows)
    for pools_of_row in rows.values():
        assert fmean(pool.covers_fill for pool in select_forecast(pools_of_row)) >= 0.8
        assert fmean(pool.covers_fill for pool in select_forecast(select_unfilled(pools_of_row))) >= 0.8
        assert fmean(pool.is_below_p90 for pool in select_forecast(select_unfilled(pools_of_row))) >= 0.75
    forecasts = len(select_forecast(rows[ALL_POOLS]))
    assert forecasts >= 0.7 * len(rows[ALL_POOLS])


def write(rows: dict[str, list[JudgedPool]]) -> None:
    if not (target := os.environ.get("ACCURACY_WRITE")):
        return
    judgedses = dict(rows)
    judgedses["of a resource, not full before"] = select_unfilled(rows[ALL_POOLS])
    judgedses["and it was within 90 days"] = [
        pool for pool in select_unfilled(rows[ALL_POOLS]) if pool.pool.find_full()
    ]
    Path(target).write_text("".join(map(format_row, judgedses, judgedses.values())))


def format_row(name: str, pools: Sequence[JudgedPool]) -> str:
    sure = select_forecast(pools)
    reasons = Counter(pool.forecast.reason for pool in pools if pool.forecast.reason)
    refusals = ", ".join(f"{count} {reason}" for reason, count in reasons.most_common()) or "0"
    widths = [pool.interval[1] - pool.interval[0] + 1 for pool in sure]
    right = ([pool.covers_fill for pool in sure], [pool.is_below_p90 for pool in sure])
    served_pools = [pool.serves(pool.pool.gpus_requested) for pool in sure]
    shares = [f"{sum(outcomes)} of {len(outcomes)}" for outcomes in (*right, served_pools)]
    cells = (name, len(pools), refusals, shares[0], f"{median(widths):.0f}" if widths else "", *shares[1:])
    return f"| {' | '.join(map(str, cells))} |\n"
