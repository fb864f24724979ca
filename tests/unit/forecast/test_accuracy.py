"""How often a pool fills within the stated interval, of 105 made worlds, the same in every run; and what the simple
rule of the alert makes of them.

`ACCURACY_WRITE=FILE` writes the tables of docs/forecast.md.
"""

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

EACH = 5
KINDS = ("plain", "gaps", "hidden")
LEAD, ALERT_DAYS = 30, 28


@dataclass(frozen=True)
class Judged:
    world: World
    kind: str
    found: PoolForecast

    @property
    def inside(self) -> bool:
        begin, end = self.interval
        return begin <= (self.world.fills or AFTER + 1) <= end

    @property
    def interval(self) -> tuple[int, int]:
        """Beyond the horizon is one day more."""
        fills = looked(self).fills
        return fills.first or AFTER + 1, fills.last or AFTER + 1

    @property
    def width(self) -> int:
        return self.interval[1] - self.interval[0] + 1


def looked(one: Judged) -> Outlook:
    assert one.found.outlook is not None
    return one.found.outlook


@pytest.fixture(scope="module")
def judged() -> list[Judged]:
    judgeds = []
    for mechanism in GROWTHS:
        for kind in KINDS:
            for number in range(EACH):
                seed = f"1-{mechanism}-{kind}-{number}"
                world = draw_world(mechanism, seed, hidden=kind == "hidden", gaps=kind == "gaps")
                judgeds.append(Judged(world, kind, forecast_pool(world.demand, Terms(LEAD, AFTER))))
    write(judgeds)
    return judgeds


def made(judged: Sequence[Judged]) -> list[Judged]:
    return [one for one in judged if one.found.outlook]


def test_pools_fill_within_the_interval(judged: list[Judged]) -> None:
    """Nine of ten are meant; four of five are asked for. Not by refusing, nor by an interval that says nothing."""
    sure = made(judged)
    assert fmean(one.inside for one in sure) >= 0.8
    assert len(sure) >= 0.75 * len(judged)
    assert fmean(one.width for one in sure) <= 0.75 * AFTER


def test_demand_at_the_lead_time_is_below_its_p90(judged: list[Judged]) -> None:
    """And not by P90s that are far off: one in ten is below P10."""
    served = above = 0
    sure = made(judged)
    for one in sure:
        lead = looked(one).at_lead
        assert lead
        begin = (BEFORE + LEAD - 7) * HOURS_A_DAY
        came = max(one.world.wanted[begin : begin + 7 * HOURS_A_DAY])
        served += came <= lead.p90
        above += came >= lead.p10
    assert 0.8 <= served / len(sure) < 1
    assert 0.8 <= above / len(sure) < 1


def test_quantiles_reach_the_limit_as_often_as_they_say(judged: list[Judged]) -> None:
    sure = made(judged)
    before = {
        name: fmean((one.world.fills or AFTER + 1) <= (getattr(looked(one).fills, name) or AFTER) for one in sure)
        for name in ("p90", "p50")
    }
    assert before["p90"] < 0.35
    assert 0.3 < before["p50"] < 0.8


def alerts(world: World) -> bool:
    """The rule of GpuFullSoon: a straight line through the daily highs of four weeks, and their deviation."""
    peaks = [day.peak for day in fold(world.demand)]
    known = [(day, peak) for day, peak in enumerate(peaks) if peak is not None and day >= BEFORE - ALERT_DAYS]
    slope, level = linear_regression(*zip(*known, strict=True))
    return level + slope * (BEFORE - 1 + LEAD) + pstdev(peak for _, peak in known) >= world.limit


def write(judged: Sequence[Judged]) -> None:
    if not (where := os.environ.get("ACCURACY_WRITE")):
        return
    rows = [*(row(name, chosen) for name, chosen in groups(judged)), ()]
    rows += [compared("full within 30 days", [one for one in judged if soon(one.world.fills)])]
    rows += [compared("not full within 30 days", [one for one in judged if not soon(one.world.fills)])]
    Path(where).write_text("".join(f"| {' | '.join(map(str, cells))} |\n" for cells in rows))


def row(name: str, chosen: Sequence[Judged]) -> tuple[object, ...]:
    sure = made(chosen)
    parts = (sure, [one for one in sure if one.world.fills])
    widths = (f"{median(one.width for one in part):.0f}" if part else "" for part in parts)
    return name, len(chosen), len(chosen) - len(sure), f"{sum(one.inside for one in sure)} of {len(sure)}", *widths


def compared(name: str, chosen: Sequence[Judged]) -> tuple[object, ...]:
    fills = [looked(one).fills for one in made(chosen)]
    says = sum(soon(fill.p90) for fill in fills), sum(soon(one.p50) for one in fills)
    return name, len(chosen), *says, len(chosen) - len(fills), sum(alerts(one.world) for one in chosen)


def soon(day: int | None) -> bool:
    return day is not None and day <= LEAD


def variation(found: PoolForecast) -> float:
    """Of the highest hour against the same day a week before, as a standard deviation, to the mean."""
    pairs = [
        (day.peak, before.peak)
        for before, day in zip(found.days, found.days[7:], strict=False)
        if day.peak is not None and before.peak is not None
    ]
    return pstdev(day - before for day, before in pairs) / 2**0.5 / fmean(day for day, _ in pairs)


def groups(judged: Sequence[Judged]) -> list[tuple[str, list[Judged]]]:
    found = [(name, [one for one in judged if one.world.mechanism == name]) for name in GROWTHS]
    found += [(name, [one for one in judged if one.kind == name]) for name in KINDS]
    for name, steady in (("peaks vary by under 10 %", True), ("by more", False)):
        found.append((name, [one for one in judged if (variation(one.found) < 0.1) is steady]))
    return [*found, ("all", list(judged))]
