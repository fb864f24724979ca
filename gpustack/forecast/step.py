"""A lasting step of demand: a new team, a service that moved away."""

from collections.abc import Iterator
from statistics import median

from gpustack.forecast.trend import WEEK, Values

CLEAR = 3.5  # times the usual deviation, in the median of a week
EACH = 2.0  # and in all of its days but one


def find_step(values: Values) -> tuple[int, float] | None:
    """The first day after it and its height, None where there is none. A step raises the differences to the week before
    for one week."""
    risen = {day: value - values[day - WEEK] for day, value in values.items() if day - WEEK in values}
    if len(risen) < 2 * WEEK:
        return None
    usual = median(risen.values())
    deviation = 1.4826 * median(abs(value - usual) for value in risen.values())  # as the standard one, of noise
    found = max(raised_weeks(risen, usual), key=lambda one: one[0], default=None)
    if found is None or found[0] <= EACH * deviation or abs(found[2]) <= CLEAR * deviation:
        return None
    return found[1:]


def raised_weeks(risen: Values, usual: float) -> Iterator[tuple[float, int, float]]:
    """Of each week the second least height of its days, its first day, the median height."""
    for first in risen:
        heights = [risen[day] - usual for day in range(first, first + WEEK) if day in risen]
        if len(heights) >= WEEK - 1:
            middle = median(heights)
            yield sorted(height if middle > 0 else -height for height in heights)[1], first, middle


def align(values: Values) -> Values:
    """As if the step had been there from the beginning."""
    found = find_step(values)
    return {day: value + found[1] if day < found[0] else value for day, value in values.items()} if found else values
