"""How far the mean of samples that follow on each other may be off by chance: the moving block bootstrap.

H. R. Künsch, The jackknife and the bootstrap for general stationary observations, Annals of Statistics 17 (1989):
samples are drawn in blocks of neighbours, which keep what they have in common. Of a mean nothing needs to be drawn: its
variance over all draws is that of the means of the blocks, divided by the number of blocks that make up the time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import cbrt, ceil, inf, isfinite, sqrt
from operator import mul
from statistics import NormalDist, fmean

FEWEST = 5  # blocks: with fewer, their means say nothing of how they differ
ROUNDING = 1e-9  # of the mean: what differs by less is one value
FURTHER = 1.3  # each lag that is looked at is so many times the one before


@dataclass(frozen=True)
class Mean:
    """`error` is the standard error, infinite where samples hang together for too much of the time to tell; `freedom`
    is how many blocks it was made of, less one."""

    value: float
    error: float
    freedom: float


def mean_of(track: Sequence[float]) -> Mean:
    """Of at least ten samples."""
    middle = fmean(track)
    off = [value - middle for value in track]
    if max(map(abs, off)) <= ROUNDING * abs(middle):
        return Mean(middle, 0.0, len(track) - 1)
    length = block_length(off)
    if length is None:
        return Mean(middle, inf, 1.0)
    sums = list(accumulate(off, initial=0.0))
    means = [(after - before) / length for before, after in zip(sums, sums[length:], strict=False)]
    blocks = len(track) / length
    variance = max(0.0, fmean(map(mul, means, means)) - fmean(means) ** 2)
    return Mean(middle, sqrt(variance / (blocks - 1)), blocks - 1)


def block_length(off: Sequence[float]) -> int | None:
    """Twice the lag from which on samples have nothing in common that chance would not explain; None where that is more
    than there are samples for. `off` are the samples less their mean."""
    count, lag = len(off), 1
    whole: float = sum(map(mul, off, off))
    most = count // FEWEST
    while sum(map(mul, off, off[lag:])) / whole > 2 / sqrt(count):
        lag = ceil(lag * FURTHER)
        if 2 * lag > most:
            return None
    return max(1, min(most, max(ceil(cbrt(count)), 2 * lag)))


@dataclass(frozen=True)
class Difference:
    """`value` is the second mean less the first; by chance it may be off by `noise`, either way."""

    value: float
    noise: float


def difference(before: Mean, after: Mean, doubt: float) -> Difference:
    """`doubt`: the share of comparisons of equals that may be called different (B. L. Welch, Biometrika 34, 1947)."""
    both = before.error**2 + after.error**2
    if not both or not isfinite(both):
        return Difference(after.value - before.value, both)
    freedom = both**2 / sum(one.error**4 / one.freedom for one in (before, after))
    return Difference(after.value - before.value, student(1 - doubt / 2, freedom) * sqrt(both))


def student(share: float, freedom: float) -> float:
    """Quantile of Student's t distribution, expanded around the normal one (Abramowitz and Stegun 26.7.5)."""
    z = NormalDist().inv_cdf(share)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom ** (number + 1) for number, term in enumerate(terms))
