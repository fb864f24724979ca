"""Paths that demand may take: the trend with its doubt, and weeks of past noise."""

import random
from collections.abc import Sequence
from math import ceil

from gpustack.forecast.models import Fit
from gpustack.forecast.trend import WEEK

Path = Sequence[float]


def draw_paths(fit: Fit, widening: float, horizon: int, number: int, rng: random.Random) -> list[Path]:
    """Draw paths of the GPUs at the highest hour of each day. Noise is drawn in blocks of neighbouring days (H. R.
    Künsch, Annals of Statistics 17, 1989)."""
    rest = list(fit.rest.values())
    expected = [fit.expect(after) for after in range(1, horizon + 1)]
    paths: list[Path] = []
    for _ in range(number):
        lift, tilt = rng.gauss(0, fit.error) * widening, rng.gauss(0, fit.tilt) * widening
        noise: list[float] = []
        while len(noise) < horizon:
            begin = rng.randrange(len(rest) - WEEK + 1)
            noise += rest[begin : begin + WEEK]
        demands = (
            demand + lift + tilt * (after + fit.middle) + deviation
            for after, (demand, deviation) in enumerate(zip(expected, noise, strict=False), 1)
        )
        paths.append([max(0.0, fit.model.inverse(demand)) for demand in demands])
    return paths


def compute_quantile(ordered_values: Sequence[float], share: float) -> float:
    """Compute the least value that this share of the values does not exceed."""
    return ordered_values[max(0, ceil(share * len(ordered_values)) - 1)]


def find_passage(path: Path, limit: float) -> int | None:
    """Find the first day at the limit or above it, from 1 on."""
    return next((after for after, demand in enumerate(path, 1) if demand >= limit), None)
