"""Slopes, weekdays, steps and bounds, on series whose parts are known."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.forecast.demand import Day
from gpustack.forecast.models import MODELS, Model, compute_mean_above, fit_model
from gpustack.forecast.step import find_step, remove_step
from gpustack.forecast.trend import WEEK, compute_inflation, estimate_slope

LINEAR, EXPONENTIAL = (next(model for model in MODELS if model.id == id) for id in ("linear", "exponential"))
WEEKDAYS = (4.0, 3.0, 5.0, 2.0, 1.0, -8.0, -7.0)


def build_series(count: int = 60, slope: float = 0.5, noise: float = 0.0, seed: int = 1) -> dict[int, float]:
    rng = random.Random(seed)
    return {day: 50 + slope * day + WEEKDAYS[day % WEEK] + rng.gauss(0, noise) for day in range(count)}


def build_days(values: dict[int, float], missing: tuple[int, ...] = (), ceiling: float = 1e9) -> list[Day]:
    return [
        Day(None) if day in missing else Day(min(value, ceiling), bound=value > ceiling)
        for day, value in values.items()
    ]


def test_a_straight_line_with_weekdays_is_continued() -> None:
    model = fit_model(LINEAR, build_days(build_series(), missing=(3, 4, 20, 33)))
    assert model.slope == pytest.approx(0.5)
    for after in (1, 8, 40):
        assert model.predict(after) == pytest.approx(50 + 0.5 * (59 + after) + WEEKDAYS[(59 + after) % WEEK])


def test_what_grows_by_a_share_is_continued() -> None:
    model = fit_model(EXPONENTIAL, [Day(51 * 1.01**day - 1) for day in range(60)])
    assert model.predict(30) == pytest.approx(51 * 1.01**89 - 1)


def test_nothing_is_below_zero() -> None:
    assert fit_model(LINEAR, build_days(build_series(slope=-0.8))).predict(90) == 0


def test_a_few_odd_days_move_nothing() -> None:
    odd = build_series(noise=1.0)
    odd |= dict.fromkeys((10, 31, 58), 400.0)
    assert estimate_slope(odd) == pytest.approx(0.5, abs=0.05)


def test_demand_above_a_bound_is_not_taken_for_the_bound() -> None:
    """The last weeks of 60 days of growth were cut at what there is: the slope remains, where the bounds alone flatten
    it."""
    values = build_series(noise=2.0)
    cut = build_days(values, ceiling=70.0)
    assert sum(day.bound for day in cut) > 15
    days = [Day(day.peak) for day in cut]
    assert fit_model(LINEAR, cut).slope > 1.2 * fit_model(LINEAR, days).slope
    assert fit_model(LINEAR, cut).predict(14) > fit_model(LINEAR, days).predict(14)


@given(st.floats(-100, 100), st.floats(0, 50), st.floats(-100, 100))
def test_a_mean_above_a_bound_is_above_it(mean: float, sigma: float, minimum: float) -> None:
    assert compute_mean_above(mean, sigma, minimum) >= max(mean, minimum) - 1e-6


@pytest.mark.parametrize("height", [25.0, -25.0])
def test_a_step_is_found_and_taken_out(height: float) -> None:
    values = {day: value + (height if day >= 33 else 0) for day, value in build_series(noise=1.5).items()}
    step = find_step(values)
    assert step is not None
    assert abs(step[0] - 33) <= 1
    assert step[1] == pytest.approx(height, abs=3)
    assert estimate_slope(remove_step(values)) == pytest.approx(0.5, abs=0.08)


def test_noise_and_growth_have_no_step() -> None:
    steps = [find_step(build_series(noise=4.0, seed=seed)) for seed in range(60)]
    assert sum(step is not None for step in steps) <= 3


def test_neighbours_that_hang_together_make_a_mean_less_sure() -> None:
    rng, value, wandering = random.Random(5), 0.0, {}
    for day in range(200):
        value = 0.8 * value + rng.gauss(0, 1)
        wandering[day] = value
    assert 5 < compute_inflation(wandering) < 13  # 9 of the process
    assert compute_inflation({day: rng.gauss(0, 1) for day in range(200)}) < 1.6


def test_the_error_of_a_slope_covers_its_variation() -> None:
    model = Model("linear")
    fits = [fit_model(model, build_days(build_series(noise=5.0, seed=seed))) for seed in range(120)]
    fit_count = sum(abs(fit.slope - 0.5) <= 1.96 * fit.tilt for fit in fits)
    assert 0.88 <= fit_count / len(fits) <= 1.0
