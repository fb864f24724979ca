"""Models of daily peaks: a level, a straight or an exponential trend, each with weekdays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import expm1, log1p, sqrt
from statistics import NormalDist

from gpustack.forecast.demand import Day
from gpustack.forecast.step import align
from gpustack.forecast.trend import WEEK, Values, estimate_slope, inflation, split_weekdays, spread

ROUNDS = 4  # of estimating what may be behind a bound
FAR = 5.0  # standard deviations from which on the tail of a normal distribution is 1 / z
MEDIANS = 1.05  # standard error of a slope by medians, to that by least squares


@dataclass(frozen=True)
class Model:
    """`forth` and `back` lead to the scale in which it is a straight line. `memory`: days that it looks back; 0 is
    all."""

    id: str
    forth: Callable[[float], float] = float
    back: Callable[[float], float] = float
    trend: bool = True
    memory: int = 0


MODELS = (
    Model("level", trend=False, memory=4 * WEEK),
    Model("linear"),
    Model("recent", memory=4 * WEEK),
    Model("exponential", log1p, expm1),
)


@dataclass(frozen=True)
class Fit:
    """In the model's scale. `level` is that of day number `last`, the last one known; `rest` what is left of each day.
    `error` is the standard error of the level at the middle of the days, `middle` days before the last; `tilt` that of
    the slope."""

    model: Model
    last: int
    level: float
    slope: float
    weekdays: tuple[float, ...]
    rest: Values
    sigma: float
    error: float
    tilt: float
    middle: float

    def expect(self, after: int) -> float:
        return self.level + self.slope * after + self.weekdays[(self.last + after) % WEEK]

    def predict(self, after: int) -> float:
        """GPUs, at the highest hour of that day."""
        return max(0.0, self.model.back(self.expect(after)))

    def doubt(self, after: float, days: int) -> float:
        """Standard error of the mean of so many days around one to come."""
        noise = self.error * sqrt(len(self.rest) / days)
        return sqrt(self.error**2 + (self.tilt * (after + self.middle)) ** 2 + noise**2)


def fit(model: Model, days: Sequence[Day]) -> Fit:
    """Of at least eight days with a peak. What may be behind bounds is estimated with the rest, in rounds (as by
    expectation and maximisation)."""
    first = len(days) - model.memory if model.memory else 0
    values = {at: model.forth(day.peak) for at, day in enumerate(days) if day.peak is not None and at >= first}
    bounds = {at: value for at, value in values.items() if days[at].bound}
    found = fit_values(model, len(days) - 1, values)
    for _ in range(ROUNDS if bounds else 0):
        behind = {at: mean_above(found.expect(at - found.last), found.sigma, least) for at, least in bounds.items()}
        found = fit_values(model, len(days) - 1, values | behind)
    return found


def fit_values(model: Model, last: int, found: Values) -> Fit:
    values = align(found)
    slope = estimate_slope(values) if model.trend else 0.0
    level, weekdays = split_weekdays({at: value + slope * (last - at) for at, value in values.items()})
    rest = {at: value + slope * (last - at) - level - weekdays[at % WEEK] for at, value in values.items()}
    sigma, count = spread(rest), len(rest)
    error = sigma * sqrt(inflation(rest) / count)
    tilt = MEDIANS * error * sqrt(12) / count
    return Fit(model, last, level, slope, weekdays, rest, sigma, error, tilt, count / 2)


def mean_above(mean: float, sigma: float, least: float) -> float:
    """Of what is distributed normally and is known to be `least` or more."""
    if sigma <= 0:
        return max(mean, least)
    normal, z = NormalDist(), (least - mean) / sigma
    return mean + sigma * (z + 1 / z if z > FAR else normal.pdf(z) / (1 - normal.cdf(z)))
