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
"""By the number of the day; days may be missing."""


def estimate_slope(values: Values) -> float:
    """Each day; 0 where no weekday is there twice."""
    slopes: list[float] = []
    for weekday in range(WEEK):
        days = [day for day in values if day % WEEK == weekday]
        for number, day in enumerate(days):
            slopes += [(values[later] - values[day]) / (later - day) for later in days[number + 1 :]]
    return median(slopes) if slopes else 0.0


def split_weekdays(values: Values) -> tuple[float, tuple[float, ...]]:
    """The level, and by how much each weekday (the number of the day modulo 7) is above it."""
    whole = median(values.values())
    found = [
        median([value for day, value in values.items() if day % WEEK == weekday] or [whole]) for weekday in range(WEEK)
    ]
    level = fmean(found)
    return level, tuple(value - level for value in found)


def spread(rest: Values) -> float:
    """Standard deviation of what a slope, a level and weekdays leave."""
    return sqrt(sum(value * value for value in rest.values()) / max(1, len(rest) - WEEK - 1))


def inflation(rest: Values) -> float:
    """By how much the variance of a mean is larger because neighbours have something in common: (1 + r) / (1 - r). In
    short series r comes out too small by (1 + 4 r) / n (F. H. C. Marriott and J. A. Pope, Biometrika 41, 1954)."""
    whole = sum(value * value for value in rest.values())
    pairs = sum(value * rest[day + 1] for day, value in rest.items() if day + 1 in rest)
    found = pairs / whole if whole > 0 else 0.0
    r = min(MOST_COMMON, max(0.0, found + (1 + 4 * found) / len(rest)))
    return (1 + r) / (1 - r)
