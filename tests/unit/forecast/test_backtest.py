"""Earlier forecasts are compared with what came."""

import random

import pytest

from gpustack.forecast.backtest import HORIZON, backtest, compute_error, compute_widening, list_origins, predict_naive
from gpustack.forecast.demand import Day


def test_the_last_week_is_repeated() -> None:
    past_days = [Day(float(day)) for day in range(21)]
    assert [predict_naive(past_days, after) for after in (1, 6, 7, 8, 14)] == [14, 19, 20, 14, 20]
    past_days[14] = Day(None)
    assert predict_naive(past_days, 1) == 7


def test_a_weekday_that_is_unknown_is_not_predicted_as_zero() -> None:
    """A naive forecast of 0 would be far off, and make each model look good beside it."""
    past_days = [Day(None) if day % 7 == 1 else Day(100.0) for day in range(14)]
    assert [predict_naive(past_days, after) for after in (1, 2, 9)] == [100, None, None]
    rng = random.Random(5)
    days = [Day(100 + rng.gauss(0, 5)) for _ in range(42)]
    gaps = [Day(None) if index in (1, 8) else day for index, day in enumerate(days)]
    scores, scores_with_gaps = ({score.model.id: score.mase for score in backtest(lot)} for lot in (days, gaps))
    assert scores_with_gaps["level"] == pytest.approx(scores["level"], rel=0.1)
    assert scores_with_gaps["level"] > 1


def test_a_time_without_known_days_scores_nothing() -> None:
    assert backtest([*[Day(100.0 + number % 3) for number in range(14)], *[Day(None)] * 16]) == ()


def test_above_a_bound_nothing_is_known_to_be_wrong() -> None:
    assert [compute_error(Day(8.0, bound=True), value) for value in (7.0, 9.0)] == [1, 0]
    assert [compute_error(Day(8.0), value) for value in (7.0, 9.0)] == [1, 1]
    assert compute_error(Day(None), 3.0) is None


def test_origins_leave_two_weeks_on_either_side() -> None:
    for count in (28, 29, 30, 45, 60, 200):
        origins = list_origins([Day(1.0)] * count)
        assert all(14 <= origin <= count - HORIZON for origin in origins)
        assert len(origins) <= 10
    assert len(list_origins([Day(1.0)] * 30)) == 3
    assert list_origins([Day(1.0)] * 27) == ()


def test_growth_without_noise_is_predicted_and_repeating_is_not() -> None:
    best = backtest([Day(10.0 + day) for day in range(60)])[0]
    assert best.mase == pytest.approx(0, abs=1e-6)
    assert best.model.id in ("linear", "recent")


def test_errors_are_a_share_of_those_of_repeating() -> None:
    """Around a level the mean of four values is off by 1.12, a repeated one by 1.41 standard deviations."""
    rng = random.Random(2)
    scores = {score.model.id: score.mase for score in backtest([Day(100 + rng.gauss(0, 5)) for _ in range(150)])}
    assert scores["level"] == pytest.approx(1.12 / 1.41, abs=0.06)


def test_what_wanders_is_refused_or_widened() -> None:
    """Neighbouring days say little of days to come, and no model has reason to be sure of itself."""
    scores = []
    for seed in range(10):
        rng, value, days = random.Random(seed), 200.0, []
        for _ in range(60):
            value += rng.gauss(0, 6)
            days.append(Day(value))
        scores.append(backtest(days)[0])
    assert sum(score.mase >= 1 for score in scores) >= 3
    assert sum(score.mase >= 1 or score.widening > 1 for score in scores) >= 7


def test_weeks_that_were_further_off_widen_what_comes() -> None:
    assert compute_widening([0.3, -0.5, 1.0]) == 1
    assert compute_widening([2.0, -3.0, 4.0, 1.0, 5.0]) == pytest.approx(5 / 1.2816, rel=1e-3)
    assert compute_widening([]) == 1
