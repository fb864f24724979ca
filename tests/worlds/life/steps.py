"""Counts over time that change at moments: exact means, peaks and hours of them."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate
from math import ceil

from tests.worlds.life.clock import HOUR, NO_TIME, cut


class Steps:
    """`times` in order, and the value from each on; 0 before the first."""

    def __init__(self, spans: Iterable[tuple[float, float, float]]) -> None:
        """Spans with what each adds; a span may never end."""
        deltas: dict[float, float] = defaultdict(float)
        for begin, end, value in spans:
            if begin < end:
                deltas[begin] += value
                if end < NO_TIME:
                    deltas[end] -= value
        self.times = sorted(deltas)
        self.values = list(accumulate(deltas[time] for time in self.times))

    def find_value(self, time: float) -> float:
        place = bisect_right(self.times, time) - 1
        return self.values[place] if place >= 0 else 0.0

    def list_pieces(self, begin: float, end: float) -> Iterable[tuple[float, float, float]]:
        """Spans of one value each that fill the whole."""
        place, value, moment = bisect_right(self.times, begin), self.find_value(begin), begin
        while place < len(self.times) and self.times[place] < end:
            yield moment, self.times[place], value
            moment, value = self.times[place], self.values[place]
            place += 1
        yield moment, end, value

    def compute_mean(self, begin: float, end: float) -> float:
        return sum((last - first) * value for first, last, value in self.list_pieces(begin, end)) / (end - begin)

    def compute_peak(self, begin: float, end: float) -> float:
        return max(value for _, _, value in self.list_pieces(begin, end))

    def compute_hourly_values(self, begin: float, end: float, measure: str = "mean") -> list[float]:
        """`measure`: mean or peak, of each hour."""
        hours = [0.0] * int((end - begin) // HOUR)
        for first, last, value in self.list_pieces(begin, begin + len(hours) * HOUR):
            for hour in range(int((first - begin) // HOUR), ceil((last - begin) / HOUR)):
                if measure == "peak":
                    hours[hour] = max(hours[hour], value)
                else:
                    moment = begin + hour * HOUR
                    hours[hour] += value * cut(first, last, moment, moment + HOUR)
        return hours if measure == "peak" else [seconds / HOUR for seconds in hours]  # whole seconds: no rounding


def add_up(spans: Iterable[tuple[float, float, float]]) -> Iterator[tuple[float, float, float]]:
    """Sums of spans that may overlap; nothing where there is none."""
    remaining_spans = list(spans)
    values, counts = Steps(remaining_spans), Steps((begin, end, 1.0) for begin, end, _ in remaining_spans)
    last = max((end for _, end, _ in remaining_spans), default=0.0)
    for (begin, end, value), (_, _, count) in zip(
        values.list_pieces(0, last), counts.list_pieces(0, last), strict=True
    ):
        if count and begin < end:
            yield begin, end, value
