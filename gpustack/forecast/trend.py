"""Slope, weekdays and noise of daily values, by medians: a few odd days move none of them.

The slope is the median of the slopes between days of the same weekday, which the week does not move either: R. M.
Hirsch, J. R. Slack and R. A. Smith, Techniques of trend analysis for monthly water quality data, Water Resources
Research 18 (1982).
"""

from collections.abc import Mapping
from math import sqrt
from statistics import fmean, median

WEEK = 7
MOST_COMMON = 0.9  # correlation of neighbours: with more, nothing is known of the noise

Values = Mapping[int, float]
"""Values by the number of the day; days may be missing."""


def estimate_slope(values: Values) -> float:
    """Estimate the slope by day; it is 0 where no weekday is there twice."""
    slopes: list[float] = []
    for weekday in range(WEEK):
        days = [day for day in values if day % WEEK == weekday]
        for number, day in enumerate(days):
            slopes += [(values[later_day] - values[day]) / (later_day - day) for later_day in days[number + 1 :]]
    return median(slopes) if slopes else 0.0


def split_weekdays(values: Values) -> tuple[float, tuple[float, ...]]:
    """Split values into the level and the height of each weekday (the number of the day modulo 7) above it."""
    overall_median = median(values.values())
    medians = [
        median([demand for day, demand in values.items() if day % WEEK == weekday] or [overall_median])
        for weekday in range(WEEK)
    ]
    level = fmean(medians)
    return level, tuple(middle - level for middle in medians)


def compute_spread(rest: Values) -> float:
    """Compute the standard deviation of the rest beside slope, level and weekdays."""
    return sqrt(sum(residual * residual for residual in rest.values()) / max(1, len(rest) - WEEK - 1))


def compute_inflation(rest: Values) -> float:
    """Compute the factor by which correlated neighbours make the variance of a mean larger: (1 + r) / (1 - r). In short
    series r comes out too small by (1 + 4 r) / n (F. H. C. Marriott and J. A. Pope, Biometrika 41, 1954)."""
    square_sum = sum(residual * residual for residual in rest.values())
    pair_sum = sum(residual * rest[day + 1] for day, residual in rest.items() if day + 1 in rest)
    correlation = pair_sum / square_sum if square_sum > 0 else 0.0
    r = min(MOST_COMMON, max(0.0, correlation + (1 + 4 * correlation) / len(rest)))
    return (1 + r) / (1 - r)
