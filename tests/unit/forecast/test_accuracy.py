"""Pools of 105 made worlds fill within the stated interval, the same in every run, and the simple rule of the alert is
compared with them. `ACCURACY_WRITE=FILE` writes the tables of docs/forecast.md."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, linear_regression, median, pstdev

import pytest

from gpustack.forecast.demand import fold
from gpustack.forecast.outlook import Outlook, Terms
from gpustack.forecast.pool import PoolForecast, forecast_pool
from tests.worlds.prometheus.demand import AFTER, BEFORE, GROWTHS, HOURS_A_DAY, World, draw_world

pytestmark = pytest.mark.long

SEEDS_OF_EACH = 5
KINDS = ("plain", "gaps", "hidden")
LEAD, ALERT_DAYS = 30, 28


@dataclass(frozen=True)
class JudgedPool:
    world: World
    kind: str
    forecast: PoolForecast

    @property
    def covers_fill(self) -> bool:
        begin, end = self.interval
        return begin <= (self.world.fills or AFTER + 1) <= end

    @property
    def interval(self) -> tuple[int, int]:
        """The first and last day of the interval. A day after the horizon stands for never."""
        fills = require_outlook(self).fills
        return fills.first or AFTER + 1, fills.last or AFTER + 1

    @property
    def width(self) -> int:
        return self.interval[1] - self.interval[0] + 1


def require_outlook(pool: JudgedPool) -> Outlook:
    assert pool.forecast.outlook is not None
    return pool.forecast.outlook


@pytest.fixture(scope="module")
def judged_pools() -> list[JudgedPool]:
    judgeds = []
    for mechanism in GROWTHS:
        for kind in KINDS:
            for number in range(SEEDS_OF_EACH):
                seed = f"1-{mechanism}-{kind}-{number}"
                world = draw_world(mechanism, seed, hidden=kind == "hidden", gaps=kind == "gaps")
                judgeds.append(JudgedPool(world, kind, forecast_pool(world.demand, Terms(LEAD, AFTER))))
    write(judgeds)
    return judgeds


def select_forecast(pools: Sequence[JudgedPool]) -> list[JudgedPool]:
    return [pool for pool in pools if pool.forecast.outlook]


def test_pools_fill_within_the_interval(judged_pools: list[JudgedPool]) -> None:
    """Nine of ten are meant; four of five are asked for. Not by refusing, nor by an interval that says nothing."""
    sure = select_forecast(judged_pools)
    assert fmean(pool.covers_fill for pool in sure) >= 0.8
    assert len(sure) >= 0.75 * len(judged_pools)
    assert fmean(pool.width for pool in sure) <= 0.75 * AFTER


def test_demand_at_the_lead_time_is_below_its_p90(judged_pools: list[JudgedPool]) -> None:
    """P90s that are far off would not do: one in ten is below P10."""
    served_count = count_above = 0
    sure = select_forecast(judged_pools)
    for pool in sure:
        lead = require_outlook(pool).at_lead
        assert lead
        begin = (BEFORE + LEAD - 7) * HOURS_A_DAY
        came = max(pool.world.demanded_units[begin : begin + 7 * HOURS_A_DAY])
        served_count += came <= lead.p90
        count_above += came >= lead.p10
    assert 0.8 <= served_count / len(sure) < 1
    assert 0.8 <= count_above / len(sure) < 1


def test_quantiles_reach_the_limit_as_often_as_they_say(judged_pools: list[JudgedPool]) -> None:
    sure = select_forecast(judged_pools)
    before = {
        name: fmean(
            (pool.world.fills or AFTER + 1) <= (getattr(require_outlook(pool).fills, name) or AFTER) for pool in sure
        )
        for name in ("p90", "p50")
    }
    assert before["p90"] < 0.35
    assert 0.3 < before["p50"] < 0.8


def has_alert(world: World) -> bool:
    """Apply the rule of GpuFullSoon: a straight line through the daily highs of four weeks, and their deviation."""
    peaks = [day.peak for day in fold(world.demand)]
    known_peaks = [(day, peak) for day, peak in enumerate(peaks) if peak is not None and day >= BEFORE - ALERT_DAYS]
    slope, level = linear_regression(*zip(*known_peaks, strict=True))
    return level + slope * (BEFORE - 1 + LEAD) + pstdev(peak for _, peak in known_peaks) >= world.limit


def write(pools: Sequence[JudgedPool]) -> None:
    if not (target := os.environ.get("ACCURACY_WRITE")):
        return
    rows = [*(format_row(name, pools_of_group) for name, pools_of_group in group_pools(pools)), ()]
    rows += [format_comparison("full within 30 days", [pool for pool in pools if is_soon(pool.world.fills)])]
    rows += [format_comparison("not full within 30 days", [pool for pool in pools if not is_soon(pool.world.fills)])]
    Path(target).write_text("".join(f"| {' | '.join(map(str, cells))} |\n" for cells in rows))


def format_row(name: str, pools: Sequence[JudgedPool]) -> tuple[object, ...]:
    sure = select_forecast(pools)
    parts = (sure, [pool for pool in sure if pool.world.fills])
    widths = (f"{median(pool.width for pool in part):.0f}" if part else "" for part in parts)
    return name, len(pools), len(pools) - len(sure), f"{sum(pool.covers_fill for pool in sure)} of {len(sure)}", *widths


def format_comparison(name: str, pools: Sequence[JudgedPool]) -> tuple[object, ...]:
    fills = [require_outlook(pool).fills for pool in select_forecast(pools)]
    says = sum(is_soon(fill.p90) for fill in fills), sum(is_soon(fill.p50) for fill in fills)
    return name, len(pools), *says, len(pools) - len(fills), sum(has_alert(pool.world) for pool in pools)


def is_soon(day: int | None) -> bool:
    return day is not None and day <= LEAD


def compute_variation(forecast: PoolForecast) -> float:
    """Compute the standard deviation of the highest hour from the same day a week before, as a share of the mean."""
    pairs = [
        (day.peak, before.peak)
        for before, day in zip(forecast.days, forecast.days[7:], strict=False)
        if day.peak is not None and before.peak is not None
    ]
    return pstdev(day - before for day, before in pairs) / 2**0.5 / fmean(day for day, _ in pairs)


def group_pools(pools: Sequence[JudgedPool]) -> list[tuple[str, list[JudgedPool]]]:
    groups = [(name, [pool for pool in pools if pool.world.mechanism == name]) for name in GROWTHS]
    groups += [(name, [pool for pool in pools if pool.kind == name]) for name in KINDS]
    for name, steady in (("peaks vary by under 10 %", True), ("by more", False)):
        groups.append((name, [pool for pool in pools if (compute_variation(pool.forecast) < 0.1) is steady]))
    return [*groups, ("all", list(pools))]
