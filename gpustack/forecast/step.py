"""A lasting step of demand: a new team, a service that moved away."""

from collections.abc import Iterator
from statistics import median

from gpustack.forecast.trend import WEEK, Values

MEDIAN_DEVIATIONS = 3.5  # the median of a week, in usual deviations
DAY_DEVIATIONS = 2.0  # each day of that week but one


def find_step(values: Values) -> tuple[int, float] | None:
    """Find the first day after a step and its height. Return None where there is none. A step raises the differences to
    the week before for one week."""
    increases = {day: demand - values[day - WEEK] for day, demand in values.items() if day - WEEK in values}
    if len(increases) < 2 * WEEK:
        return None
    usual_increase = median(increases.values())
    deviation = 1.4826 * median(
        abs(increase - usual_increase) for increase in increases.values()
    )  # as the standard one, of noise
    steepest_week = max(find_raised_weeks(increases, usual_increase), key=lambda week: week[0], default=None)
    if (
        steepest_week is None
        or steepest_week[0] <= DAY_DEVIATIONS * deviation
        or abs(steepest_week[2]) <= MEDIAN_DEVIATIONS * deviation
    ):
        return None
    return steepest_week[1:]


def find_raised_weeks(increases: Values, usual: float) -> Iterator[tuple[float, int, float]]:
    """Yield for each week the second least height of its days, its first day, and the median height."""
    for first in increases:
        heights = [increases[day] - usual for day in range(first, first + WEEK) if day in increases]
        if len(heights) >= WEEK - 1:
            middle = median(heights)
            yield sorted(height if middle > 0 else -height for height in heights)[1], first, middle


def remove_step(values: Values) -> Values:
    """Remove a step, as if it had been there from the beginning."""
    step = find_step(values)
    return {day: demand + step[1] if day < step[0] else demand for day, demand in values.items()} if step else values
