"""Noise of means: what the literature's formulae and draws by chance say as well."""

import random
from math import inf, sqrt
from statistics import fmean, pstdev

import pytest

from gpustack.profile.noise import compute_block_length, compute_difference, compute_t_quantile, estimate_mean

DOUBT = 0.05


def walk(count: int, correlation: float, rng: random.Random, mean: float = 0.5) -> list[float]:
    """Draw samples that share `correlation` of the one before: an autoregressive process."""
    value, changes = 0.0, []
    for _ in range(count + 50):
        value = correlation * value + rng.gauss(0, sqrt(1 - correlation * correlation))
        changes.append(mean + 0.1 * value)
    return changes[50:]


def count_false_differences(count: int, correlation: float, times: int = 150) -> float:
    rng, wrong = random.Random(f"{count} {correlation}"), 0
    for _ in range(times):
        difference = compute_difference(
            estimate_mean(walk(count, correlation, rng)), estimate_mean(walk(count, correlation, rng)), DOUBT
        )
        wrong += abs(difference.value) > difference.noise
    return wrong / times


@pytest.mark.parametrize(("count", "correlation"), [(30, 0.0), (90, 0.0), (90, 0.5), (360, 0.5), (360, 0.9)])
def test_equals_are_seldom_called_different(count: int, correlation: float) -> None:
    assert count_false_differences(count, correlation) <= 0.13


def test_without_blocks_they_would_often_be() -> None:
    """The test shows the purpose of the blocks."""
    rng, wrong = random.Random(1), 0
    for _ in range(150):
        tracks = [walk(360, 0.9, rng) for _ in range(2)]
        error = sqrt(sum(pstdev(track) ** 2 / len(track) for track in tracks))
        wrong += abs(fmean(tracks[0]) - fmean(tracks[1])) > 1.96 * error
    assert wrong / 150 > 0.4


def test_a_real_difference_is_found() -> None:
    rng = random.Random(2)
    difference = compute_difference(estimate_mean(walk(360, 0.5, rng)), estimate_mean(walk(360, 0.5, rng, 0.6)), DOUBT)
    assert difference.value > difference.noise


def test_the_formula_is_what_drawing_blocks_gives() -> None:
    track = walk(360, 0.5, random.Random(3))
    middle = fmean(track)
    length = compute_block_length([value - middle for value in track])
    assert length
    rng, draws = random.Random(4), []
    for _ in range(2000):
        starts = (rng.randrange(len(track) - length + 1) for _ in range(len(track) // length))
        draws.append(fmean([value for start in starts for value in track[start : start + length]]))
    blocks = len(track) // length
    assert estimate_mean(track).error == pytest.approx(pstdev(draws) * sqrt(blocks / (blocks - 1)), rel=0.08)


def test_what_drifts_has_no_known_noise() -> None:
    mean = estimate_mean([number / 100 for number in range(100)])
    assert mean.error == inf
    assert compute_difference(mean, mean, DOUBT).noise == inf


def test_what_never_changes_has_none() -> None:
    assert compute_difference(estimate_mean([0.5] * 20), estimate_mean([0.6] * 20), DOUBT).noise == 0


@pytest.mark.parametrize(
    ("share", "freedom", "quantile"), [(0.975, 4, 2.776), (0.975, 10, 2.228), (0.995, 5, 4.032), (0.999, 30, 3.385)]
)
def test_quantiles_of_student_are_those_of_tables(share: float, freedom: float, quantile: float) -> None:
    """The quantiles are those of any printed table of the t distribution."""
    assert compute_t_quantile(share, freedom) == pytest.approx(quantile, rel=0.01)
