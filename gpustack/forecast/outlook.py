"""The outlook of a pool: days until it is full, and GPUs to order."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from gpustack.forecast.backtest import Score
from gpustack.forecast.demand import Day
from gpustack.forecast.models import fit_model
from gpustack.forecast.paths import Path, compute_quantile, draw_paths, find_passage
from gpustack.forecast.trend import WEEK

HORIZON_FACTOR = 2  # times the history
NEAR_BEST = 1.1  # models with errors up to so many times the least count as good as the best
PATHS = 600
SEED = 1


@dataclass(frozen=True)
class Terms:
    """Hold lead time and horizon in days, and GPUs that are to stay free."""

    lead: int = 30
    horizon: int = 90
    reserve: float = 0.0


@dataclass(frozen=True)
class Quantiles:
    """Hold quantiles of GPUs: one of ten paths is below `p10`, nine are not above `p90`."""

    p10: float
    p50: float
    p90: float


@dataclass(frozen=True)
class Fills:
    """Hold the days from now until demand reaches the limit, 1 is the first; None is not within the horizon. The
    highest tenth of paths has reached it at `p90`, half of them at `p50`. Nine of ten paths are within `first` to
    `last`. `chance` is the share that reaches it within the horizon."""

    p90: int | None
    p50: int | None
    first: int | None
    last: int | None
    chance: float


@dataclass(frozen=True)
class Outlook:
    """Hold an outlook. Paths were drawn from `models`; `peaks` are of each day to come. `at_lead` is that of the
    highest hour of the week that ends with the lead time; `order` are the GPUs that are missing then to serve P90; both
    are None where that is beyond the horizon."""

    models: tuple[str, ...]
    horizon: int
    peaks: tuple[Quantiles, ...]
    fills: Fills
    at_lead: Quantiles | None
    order: int | None


def predict_outlook(days: Sequence[Day], limit: float, terms: Terms, scores: Sequence[Score]) -> Outlook:
    """Predict the outlook. `scores` are sorted, the best first, and the best is below 1."""
    horizon = min(max(terms.horizon, terms.lead), HORIZON_FACTOR * len(days))
    good_scores = [score for score in scores if score.mase < 1 and score.mase <= NEAR_BEST * scores[0].mase]
    rng = random.Random(SEED)  # noqa: S311 - paths, no secrets
    paths: list[Path] = []
    for model_score in good_scores:
        paths += draw_paths(
            fit_model(model_score.model, days), model_score.widening, horizon, PATHS // len(good_scores), rng
        )
    peaks = tuple(compute_quantiles([path[day] for path in paths]) for day in range(horizon))
    at_lead, order = None, None
    if terms.lead <= horizon:
        at_lead = compute_quantiles([max(path[max(0, terms.lead - WEEK) : terms.lead]) for path in paths])
        order = max(0, ceil(at_lead.p90 - limit))
    return Outlook(
        tuple(used_score.model.id for used_score in good_scores),
        horizon,
        peaks,
        compute_fills(paths, limit),
        at_lead,
        order,
    )


def compute_quantiles(values: Sequence[float]) -> Quantiles:
    sorted_values = sorted(values)
    return Quantiles(
        compute_quantile(sorted_values, 0.1), compute_quantile(sorted_values, 0.5), compute_quantile(sorted_values, 0.9)
    )


def compute_fills(paths: Sequence[Path], limit: float) -> Fills:
    days = [find_passage(path, limit) for path in paths]
    day_after_horizon = len(paths[0]) + 1
    sorted_days = sorted(day or day_after_horizon for day in days)

    def find_day(share: float) -> int | None:
        passage_day = int(compute_quantile(sorted_days, share))
        return passage_day if passage_day < day_after_horizon else None

    chance = sum(passage_day is not None for passage_day in days) / len(days)
    return Fills(find_day(0.1), find_day(0.5), find_day(0.05), find_day(0.95), chance)
