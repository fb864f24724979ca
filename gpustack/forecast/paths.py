"""Paths that demand may take: the trend with its doubt, and weeks of noise as they were."""

import random
from collections.abc import Sequence
from math import ceil

from gpustack.forecast.models import Fit
from gpustack.forecast.trend import WEEK

Path = Sequence[float]


def draw_paths(found: Fit, widening: float, horizon: int, number: int, rng: random.Random) -> list[Path]:
    """GPUs at the highest hour of each day. Noise is drawn in blocks of neighbouring days (H. R. Künsch, Annals of
    Statistics 17, 1989)."""
    rest = list(found.rest.values())
    expected = [found.expect(after) for after in range(1, horizon + 1)]
    paths: list[Path] = []
    for _ in range(number):
        lift, tilt = rng.gauss(0, found.error) * widening, rng.gauss(0, found.tilt) * widening
        noise: list[float] = []
        while len(noise) < horizon:
            begin = rng.randrange(len(rest) - WEEK + 1)
            noise += rest[begin : begin + WEEK]
        moved = (
            value + lift + tilt * (after + found.middle) + odd
            for after, (value, odd) in enumerate(zip(expected, noise, strict=False), 1)
        )
        paths.append([max(0.0, found.model.back(value)) for value in moved])
    return paths


def quantile(ordered: Sequence[float], share: float) -> float:
    """The least value that so many of them do not exceed."""
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def passage(path: Path, limit: float) -> int | None:
    """The first day at the limit or above it, from 1 on."""
    return next((after for after, value in enumerate(path, 1) if value >= limit), None)
