"""A pool has a day on which it is full and a number of GPUs to order, or a reason why there is no forecast."""

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import sin, tau

import pytest

from gpustack.forecast.demand import HOURS_A_DAY, Demand
from gpustack.forecast.outlook import Terms
from gpustack.forecast.pool import PoolForecast, forecast_pool

BEGIN = 1_780_272_000  # 2026-06-01


def make(hourly: Callable[[float], float], days: int = 60, capacity: float = 200.0) -> Demand:
    """Make a demand of a function of the time in days."""
    hours: Sequence[float] = [hourly(hour / HOURS_A_DAY) for hour in range(days * HOURS_A_DAY)]
    taken_units = [min(value, capacity) for value in hours]
    waiting = [max(0.0, value - capacity) for value in hours]
    return Demand("nvidia_com_gpu", BEGIN, taken_units, waiting, [capacity] * len(hours))


def compute_growth(day: float, slope: float = 1.0) -> float:
    """Compute demand that grows by one GPU a day; the highest hour of day N is 100 + N, 15 less at weekends."""
    week = -15 if int(day) % 7 >= 5 else 0
    return 80 + slope * int(day) + week + 20 * sin(tau * (day % 1) / 2)


def add_noise(day: float) -> float:
    return compute_growth(day) + random.Random(str(int(day))).gauss(0, 3)


def judge(demand: Demand, **terms: float) -> PoolForecast:
    return forecast_pool(demand, Terms(**terms))  # type: ignore[arg-type]


def test_what_grows_evenly_fills_on_its_day() -> None:
    """The highest hour is 200 on the hundredth day after the beginning, which is a working day: the 41st that comes."""
    pool_forecast = judge(make(compute_growth))
    assert pool_forecast.outlook is not None
    assert pool_forecast.outlook.fills.p50 == 41
    assert (pool_forecast.outlook.fills.first, pool_forecast.outlook.fills.last) == (41, 41)
    assert pool_forecast.outlook.fills.chance == 1


def test_noise_makes_an_interval_around_it() -> None:
    fills = judge(make(add_noise)).outlook.fills  # type: ignore[union-attr]
    assert fills.first
    assert fills.p90
    assert fills.p50
    assert fills.last
    assert 25 <= fills.first < fills.p90 < fills.p50 < fills.last <= 60
    assert fills.first < 41 <= fills.last


def test_orders_serve_nine_of_ten_paths_at_the_lead_time() -> None:
    """The week's highest hour on day 60 is about 219; of 200 GPUs 20 are missing, and a few for the doubt."""
    sure, unsure = judge(make(compute_growth), lead=60), judge(make(add_noise), lead=60)
    assert sure.outlook
    assert sure.outlook.order == pytest.approx(20, abs=1)
    assert unsure.outlook
    assert unsure.outlook.at_lead
    assert unsure.outlook.order
    assert 20 < unsure.outlook.order < 40
    assert unsure.outlook.order - 1 < unsure.outlook.at_lead.p90 - 200 <= unsure.outlook.order


def test_a_reserve_is_kept_free() -> None:
    plain, reserved_pool = judge(make(compute_growth), lead=60), judge(make(compute_growth), lead=60, reserve=20)
    assert reserved_pool.limit == 180
    assert plain.outlook
    assert reserved_pool.outlook
    assert reserved_pool.outlook.fills.p50 == 21
    assert reserved_pool.outlook.order == (plain.outlook.order or 0) + 20


def test_what_never_fills_needs_no_order() -> None:
    pool_forecast = judge(make(add_noise, capacity=2000.0))
    assert pool_forecast.outlook
    assert pool_forecast.outlook.fills.first is None
    assert pool_forecast.outlook.fills.chance == 0
    assert pool_forecast.outlook.order == 0


def test_a_short_history_reaches_twice_as_far() -> None:
    pool_forecast = judge(make(add_noise, days=30), lead=70)
    assert pool_forecast.outlook
    assert pool_forecast.outlook.horizon == 60
    assert pool_forecast.outlook.order is None
    assert "reach 60 days, no" in pool_forecast.notes[-1]


def test_the_same_demand_has_the_same_forecast() -> None:
    assert judge(make(add_noise)) == judge(make(add_noise))


def test_full_days_are_counted() -> None:
    assert judge(make(compute_growth, capacity=150.0)).full >= 7


def test_a_step_is_named_with_its_day() -> None:
    pool_forecast = judge(make(lambda day: add_noise(day) + (60 if day >= 30 else 0), capacity=400.0))
    assert any("Demand rose by" in note and "2026-07-01" in note for note in pool_forecast.notes)


def remove_hours(demand: Demand, hours: range) -> Demand:
    return replace(
        demand, allocated_gpus=[None if index in hours else value for index, value in enumerate(demand.allocated_gpus)]
    )


STEPS = random.Random(4).choices((-9, 9), k=60)


def walk(day: float) -> float:
    return 1000 + sum(STEPS[: int(day) + 1])


REFUSED_POOLS = {
    "short-history": lambda: make(add_noise, days=27),
    "no-capacity": lambda: replace(make(add_noise), capacity=[None] * 60 * HOURS_A_DAY),
    "gaps": lambda: remove_hours(make(add_noise), range(20 * 24, 40 * 24)),
    "no-demand": lambda: make(lambda _: 0.0),
    "hidden-demand": lambda: replace(make(compute_growth, capacity=130.0), queued_gpus=[None] * 60 * HOURS_A_DAY),
    "no-skill": lambda: make(walk, capacity=2000.0),
}


@pytest.mark.parametrize("reason", REFUSED_POOLS)
def test_no_forecast_has_its_reason(reason: str) -> None:
    pool_forecast = judge(REFUSED_POOLS[reason]())
    assert (pool_forecast.reason, pool_forecast.outlook) == (reason, None)
    assert pool_forecast.message


def test_nothing_at_all_is_no_forecast() -> None:
    pool_forecast = judge(Demand("nvidia_com_gpu", BEGIN, [None] * 48, [None] * 48, [8.0] * 48))
    assert (pool_forecast.reason, pool_forecast.days) == ("short-history", ())


def test_demand_that_was_cut_is_a_bound() -> None:
    cut = replace(make(add_noise, capacity=162.0), queued_gpus=[0.0] * 60 * HOURS_A_DAY, whole_queue=False)
    pool_forecast = judge(cut)
    assert "demand was that or more" in pool_forecast.notes[0]
    assert pool_forecast.outlook
    assert pool_forecast.outlook.fills.p50 is not None
    assert pool_forecast.outlook.fills.p50 <= 10
