"""Rolling origins: what each model would have predicted earlier, against what came.

R. J. Hyndman and A. B. Koehler, Another look at measures of forecast accuracy, International Journal of Forecasting 22
(2006). Errors are scaled by those of the seasonal naive forecast of the same days, not of the days before: those would
compare a fortnight with a week.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean

from gpustack.forecast.demand import Day
from gpustack.forecast.models import MODELS, Fit, Model, fit
from gpustack.forecast.trend import WEEK

FIRST = 2 * WEEK  # days before the first origin: two seasons
HORIZON = 2 * WEEK
FOLDS, FEWEST_FOLDS = 10, 3
FEWEST_PEAKS = FIRST - 2  # before an origin
NEARLY = 1e-9


@dataclass(frozen=True)
class Score:
    """`mase`: mean absolute error, as a share of that of the seasonal naive forecast. `widening`: how many times larger
    errors of weeks were than the model expects of itself; at least 1."""

    model: Model
    mase: float
    widening: float
    folds: int


def backtest(days: Sequence[Day]) -> tuple[Score, ...]:
    """Best first; none where there are too few days."""
    scores = (score(model, days, origins(days)) for model in MODELS)
    return tuple(sorted((one for one in scores if one.folds >= FEWEST_FOLDS), key=lambda one: one.mase))


def origins(days: Sequence[Day]) -> tuple[int, ...]:
    """At equal distances, the last a horizon before the end."""
    last = len(days) - HORIZON
    step = max(1, -(-(last - FIRST + 1) // FOLDS))
    there = range(last, FIRST - 1, -step)
    return tuple(at for at in there if sum(day.peak is not None for day in days[:at]) >= FEWEST_PEAKS)


def score(model: Model, days: Sequence[Day], begins: Sequence[int]) -> Score:
    own, simple, weeks = [], [], []
    for begin in begins:
        found = fit(model, days[:begin])
        coming = {at - begin + 1: days[at] for at in range(begin, begin + HORIZON)}
        own += [miss(day, found.predict(after)) for after, day in coming.items()]
        simple += [miss(day, repeat(days[:begin], after)) for after, day in coming.items()]
        weeks += list(weekly(found, coming))
    mine, naive = fmean(own or [0.0]), fmean(simple or [0.0])
    return Score(model, mine / max(naive, NEARLY), widen(weeks), len(begins))


def miss(day: Day, predicted: float) -> float:
    """Where demand was `peak` or more, a prediction above it is not known to be wrong."""
    if day.peak is None or (day.bound and predicted >= day.peak):
        return 0.0
    return abs(predicted - day.peak)


def repeat(days: Sequence[Day], after: int) -> float:
    """The seasonal naive forecast: as on the last such weekday that is known."""
    there = range(len(days) - 1 - (-after % WEEK), -1, -WEEK)
    return next((peak for at in there if (peak := days[at].peak) is not None), 0.0)


def weekly(found: Fit, coming: dict[int, Day]) -> Iterator[float]:
    """Mean error of each week, as a share of what the model expects of itself."""
    for begin in range(1, HORIZON, WEEK):
        part = {after: day for after, day in coming.items() if begin <= after < begin + WEEK}
        errors = [
            found.model.forth(day.peak) - found.expect(after)
            for after, day in part.items()
            if day.peak is not None and not day.bound
        ]
        if len(errors) > WEEK / 2:
            yield fmean(errors) / max(found.doubt(begin + WEEK / 2, len(errors)), NEARLY)


def widen(weeks: Sequence[float]) -> float:
    """So that four in five weeks were inside (split conformal prediction)."""
    ordered = sorted(map(abs, weeks))
    inside = ordered[int(0.8 * len(ordered))] if ordered else 0.0
    return max(1.0, inside / NormalDist().inv_cdf(0.9))
