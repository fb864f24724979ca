"""Time of a life: whole seconds since 1970, UTC. Random streams, one for each source, so that none moves another's."""

import random
from collections.abc import Sequence
from math import exp, inf

MINUTE, HOUR, DAY = 60, 3600, 86400
START = 1780272000
"""2026-06-01T00:00Z, a Monday: the month ends within sixty days."""
NO_TIME = inf
Span = tuple[float, float]


def stream(seed: int, *names: object) -> random.Random:
    """Build a generator of its own for each source: what is drawn of one source does not depend on how long another is
    drawn."""
    return random.Random("/".join(map(str, (seed, *names))))


def draw_poisson(rng: random.Random, mean: float) -> int:
    """Draw by products of uniform numbers, in parts, for means that are not large."""
    count = 0
    while mean > 0:
        floor, product = exp(-min(mean, 30.0)), rng.random()
        while product > floor:
            count, product = count + 1, product * rng.random()
        mean -= 30.0
    return count


def cut(begin: float, end: float, window_begin: float, window_end: float) -> float:
    """Seconds of the span within the other one."""
    return max(0.0, min(end, window_end) - max(begin, window_begin))


def subtract_spans(begin: float, end: float, holes: list[Span]) -> list[Span]:
    """Subtract holes from a span; `holes` in the order of time, without overlaps."""
    rest = []
    for first, last in holes:
        if last <= begin or first >= end:
            continue
        if first > begin:
            rest.append((begin, first))
        begin = max(begin, last)
    return [*rest, (begin, end)] if begin < end else rest


def merge_spans(spans: Sequence[Span]) -> list[Span]:
    """Merge spans into some in the order of time, without overlaps."""
    merged_spans: list[Span] = []
    for begin, end in sorted(spans):
        if merged_spans and begin <= merged_spans[-1][1]:
            merged_spans[-1] = (merged_spans[-1][0], max(merged_spans[-1][1], end))
        else:
            merged_spans.append((begin, end))
    return merged_spans
