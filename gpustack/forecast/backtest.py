"""Back-test by rolling origins: earlier predictions of each model are compared with the demand that came.

R. J. Hyndman and A. B. Koehler, Another look at measures of forecast accuracy, International Journal of Forecasting 22
(2006). Errors are scaled by those of the seasonal naive forecast of the same days, not of the days before: those would
compare a fortnight with a week.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from statistics import NormalDist, fmean

from gpustack.forecast.demand import Day
from gpustack.forecast.models import MODELS, Fit, Model, fit_model
from gpustack.forecast.trend import WEEK

FIRST_ORIGIN = 2 * WEEK  # days before the first origin: two seasons
HORIZON = 2 * WEEK
FOLDS, FEWEST_FOLDS = 10, 3
FEWEST_PEAKS = FIRST_ORIGIN - 2  # before an origin
EPSILON = 1e-9


@dataclass(frozen=True)
class Score:
    """Hold the score of a model. `mase` is the mean absolute error, as a share of that of the seasonal naive forecast.
    `widening` tells how many times larger the errors of weeks were than the model expects of itself; it is at least
    1."""

    model: Model
    mase: float
    widening: float
    folds: int


def backtest(days: Sequence[Day]) -> tuple[Score, ...]:
    """Score all models, the best first. There are none where there are too few days."""
    scores = (compute_score(model, days, list_origins(days)) for model in MODELS)
    return tuple(sorted((score for score in scores if score.folds >= FEWEST_FOLDS), key=lambda entry: entry.mase))


def list_origins(days: Sequence[Day]) -> tuple[int, ...]:
    """List origins at equal distances, the last a horizon before the end."""
    last = len(days) - HORIZON
    step = max(1, -(-(last - FIRST_ORIGIN + 1) // FOLDS))
    candidates = range(last, FIRST_ORIGIN - 1, -step)
    return tuple(origin for origin in candidates if sum(day.peak is not None for day in days[:origin]) >= FEWEST_PEAKS)


def compute_score(model: Model, days: Sequence[Day], begins: Sequence[int]) -> Score:
    """Score a model by the days of which the errors of both forecasts are known. A fold without one does not count."""
    model_errors: list[float] = []
    naive_errors: list[float] = []
    weekly_errors: list[float] = []
    folds = 0
    for begin in begins:
        fit = fit_model(model, days[:begin])
        coming_days = {index - begin + 1: days[index] for index in range(begin, begin + HORIZON)}
        errors = [
            (compute_error(day, fit.predict(after)), compute_error(day, predict_naive(days[:begin], after)))
            for after, day in coming_days.items()
        ]
        error_pairs = [
            (model_error, naive_error)
            for model_error, naive_error in errors
            if model_error is not None and naive_error is not None
        ]
        model_errors += [model_error for model_error, _ in error_pairs]
        naive_errors += [naive_error for _, naive_error in error_pairs]
        weekly_errors += list(compute_weekly_errors(fit, coming_days))
        folds += bool(error_pairs)
    mase = fmean(model_errors) / max(fmean(naive_errors), EPSILON) if folds else inf
    return Score(model, mase, compute_widening(weekly_errors), folds)


def compute_error(day: Day, prediction: float | None) -> float | None:
    """Compute the error of a prediction, None where one of both is unknown. Where demand was `peak` or more, a
    prediction above it is not known to be wrong."""
    if day.peak is None or prediction is None:
        return None
    return 0.0 if day.bound and prediction >= day.peak else abs(prediction - day.peak)


def predict_naive(days: Sequence[Day], after: int) -> float | None:
    """Predict by the seasonal naive forecast: as on the last such weekday that is known, None where none is."""
    indices = range(len(days) - 1 - (-after % WEEK), -1, -WEEK)
    return next((peak for index in indices if (peak := days[index].peak) is not None), None)


def compute_weekly_errors(fit: Fit, coming: dict[int, Day]) -> Iterator[float]:
    """Compute the mean error of each week, as a share of the error that the model expects of itself."""
    for begin in range(1, HORIZON, WEEK):
        part = {after: day for after, day in coming.items() if begin <= after < begin + WEEK}
        errors = [
            fit.model.transform(day.peak) - fit.expect(after)
            for after, day in part.items()
            if day.peak is not None and not day.bound
        ]
        if len(errors) > WEEK / 2:
            yield fmean(errors) / max(fit.compute_error(begin + WEEK / 2, len(errors)), EPSILON)


def compute_widening(weeks: Sequence[float]) -> float:
    """Compute the factor by which four in five weeks were inside (split conformal prediction)."""
    sorted_errors = sorted(map(abs, weeks))
    quantile = sorted_errors[int(0.8 * len(sorted_errors))] if sorted_errors else 0.0
    return max(1.0, quantile / NormalDist().inv_cdf(0.9))
