"""Noise of the mean of samples that follow each other, by the moving block bootstrap.

H. R. Künsch, The jackknife and the bootstrap for general stationary observations, Annals of Statistics 17 (1989):
samples are drawn in blocks of neighbours, which keep their correlation. For a mean nothing needs to be drawn: its
variance over all draws is that of the means of the blocks, divided by the number of blocks that make up the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import cbrt, ceil, inf, isfinite, sqrt
from operator import mul
from statistics import NormalDist, fmean

LEAST_BLOCKS = 5  # with fewer blocks the spread of their means is not known
ROUNDING = 1e-9  # of the mean: what differs by less is one value
LAG_FACTOR = 1.3  # times the lag that was tried before


@dataclass(frozen=True)
class Mean:
    """Hold a mean. `error` is the standard error, infinite where samples are correlated over too much of the time to
    tell; `freedom` is the number of blocks, less one."""

    value: float
    error: float
    freedom: float


def estimate_mean(track: Sequence[float]) -> Mean:
    """Estimate the mean of at least ten samples."""
    middle = fmean(track)
    deviations = [value - middle for value in track]
    if max(map(abs, deviations)) <= ROUNDING * abs(middle):
        return Mean(middle, 0.0, len(track) - 1)
    length = compute_block_length(deviations)
    if length is None:
        return Mean(middle, inf, 1.0)
    sums = list(accumulate(deviations, initial=0.0))
    means = [(after - before) / length for before, after in zip(sums, sums[length:], strict=False)]
    blocks = len(track) / length
    variance = max(0.0, fmean(map(mul, means, means)) - fmean(means) ** 2)
    return Mean(middle, sqrt(variance / (blocks - 1)), blocks - 1)


def compute_block_length(deviations: Sequence[float]) -> int | None:
    """Compute twice the lag from which on samples are not correlated beyond chance. Return None where that is more than
    there are samples for. `deviations` are the samples less their mean."""
    count, lag = len(deviations), 1
    square_sum: float = sum(map(mul, deviations, deviations))
    length_limit = count // LEAST_BLOCKS
    while sum(map(mul, deviations, deviations[lag:])) / square_sum > 2 / sqrt(count):
        lag = ceil(lag * LAG_FACTOR)
        if 2 * lag > length_limit:
            return None
    return max(1, min(length_limit, max(ceil(cbrt(count)), 2 * lag)))


@dataclass(frozen=True)
class Difference:
    """Hold a difference. `value` is the second mean less the first; by chance it may be off by `noise`, either way."""

    value: float
    noise: float


def compute_difference(before: Mean, after: Mean, doubt: float) -> Difference:
    """Compute the difference of two means. `doubt` is the share of comparisons of equals that may be called different
    (B. L. Welch, Biometrika 34, 1947)."""
    variance = before.error**2 + after.error**2
    if not variance or not isfinite(variance):
        return Difference(after.value - before.value, variance)
    freedom = variance**2 / sum(mean.error**4 / mean.freedom for mean in (before, after))
    return Difference(after.value - before.value, compute_t_quantile(1 - doubt / 2, freedom) * sqrt(variance))


def compute_t_quantile(share: float, freedom: float) -> float:
    """Compute a quantile of Student's t distribution, expanded around the normal one (Abramowitz and Stegun 26.7.5)."""
    z = NormalDist().inv_cdf(share)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom ** (number + 1) for number, term in enumerate(terms))
