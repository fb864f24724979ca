"""Models of daily peaks: a level, a straight or an exponential trend, each with weekdays."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import expm1, log1p, sqrt
from statistics import NormalDist

from gpustack.forecast.demand import Day
from gpustack.forecast.step import remove_step
from gpustack.forecast.trend import WEEK, Values, compute_inflation, compute_spread, estimate_slope, split_weekdays

ROUNDS = 4  # of estimating what may be behind a bound
TAIL_START = 5.0  # standard deviations from which on the tail of a normal distribution is 1 / z
MEDIANS = 1.05  # standard error of a slope by medians, to that by least squares


@dataclass(frozen=True)
class Model:
    """Describe a model. `transform` and `inverse` lead to and from the scale in which it is a straight line. `memory`
    is the number of days that it looks back; 0 is all."""

    id: str
    transform: Callable[[float], float] = float
    inverse: Callable[[float], float] = float
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
    """Hold a fitted model, in its own scale. `level` is that of day number `last`, the last one known; `rest` is the
    rest of each day. `error` is the standard error of the level at the middle of the days, `middle` days before the
    last; `tilt` is that of the slope."""

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
        """Predict the GPUs at the highest hour of a day."""
        return max(0.0, self.model.inverse(self.expect(after)))

    def compute_error(self, after: float, days: int) -> float:
        """Compute the standard error of the mean of so many days around one to come."""
        noise = self.error * sqrt(len(self.rest) / days)
        return sqrt(self.error**2 + (self.tilt * (after + self.middle)) ** 2 + noise**2)


def fit_model(model: Model, days: Sequence[Day]) -> Fit:
    """Fit a model to at least eight days with a peak. Demand behind bounds is estimated with the rest, in rounds (as by
    expectation and maximisation)."""
    first = len(days) - model.memory if model.memory else 0
    values = {
        number: model.transform(day.peak) for number, day in enumerate(days) if day.peak is not None and number >= first
    }
    bounds = {number: demand for number, demand in values.items() if days[number].bound}
    fit = fit_values(model, len(days) - 1, values)
    for _ in range(ROUNDS if bounds else 0):
        estimates = {
            number: compute_mean_above(fit.expect(number - fit.last), fit.sigma, lower_bound)
            for number, lower_bound in bounds.items()
        }
        fit = fit_values(model, len(days) - 1, values | estimates)
    return fit


def fit_values(model: Model, last: int, observations: Values) -> Fit:
    values = remove_step(observations)
    slope = estimate_slope(values) if model.trend else 0.0
    level, weekdays = split_weekdays({day: demand + slope * (last - day) for day, demand in values.items()})
    rest = {day: demand + slope * (last - day) - level - weekdays[day % WEEK] for day, demand in values.items()}
    sigma, count = compute_spread(rest), len(rest)
    error = sigma * sqrt(compute_inflation(rest) / count)
    tilt = MEDIANS * error * sqrt(12) / count
    return Fit(model, last, level, slope, weekdays, rest, sigma, error, tilt, count / 2)


def compute_mean_above(mean: float, sigma: float, lower_bound: float) -> float:
    """Compute the mean of a normally distributed value that is known to be `lower_bound` or more."""
    if sigma <= 0:
        return max(mean, lower_bound)
    normal, z = NormalDist(), (lower_bound - mean) / sigma
    return mean + sigma * (z + 1 / z if z > TAIL_START else normal.pdf(z) / (1 - normal.cdf(z)))
