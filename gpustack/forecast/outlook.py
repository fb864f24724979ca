"""What may come: days until a pool is full, and GPUs to order."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from gpustack.forecast.backtest import Score
from gpustack.forecast.demand import Day
from gpustack.forecast.models import fit
from gpustack.forecast.paths import Path, draw_paths, passage, quantile
from gpustack.forecast.trend import WEEK

FURTHEST = 2  # times the history
NEAR_BEST = 1.1  # models with errors up to so many times the least are not told from the best
PATHS = 600
SEED = 1


@dataclass(frozen=True)
class Terms:
    """Days, and GPUs that are to stay free."""

    lead: int = 30
    horizon: int = 90
    reserve: float = 0.0


@dataclass(frozen=True)
class Quantiles:
    """GPUs: one of ten paths is below `p10`, nine are not above `p90`."""

    p10: float
    p50: float
    p90: float


@dataclass(frozen=True)
class Fills:
    """Days from now until demand reaches the limit, 1 is the first; None is not within the horizon. `p90`: the highest
    demand of one in ten paths has; `p50`: of half of them. `first` to `last` are nine of ten paths. `chance`: the share
    that does within the horizon."""

    p90: int | None
    p50: int | None
    first: int | None
    last: int | None
    chance: float


@dataclass(frozen=True)
class Outlook:
    """`models` were drawn from. `peaks` of each day that comes. `at_lead`: of the highest hour of the week that ends
    with the lead time; `order`: GPUs that are missing then to serve P90; both None where that is beyond the horizon."""

    models: tuple[str, ...]
    horizon: int
    peaks: tuple[Quantiles, ...]
    fills: Fills
    at_lead: Quantiles | None
    order: int | None


def look_out(days: Sequence[Day], limit: float, terms: Terms, scores: Sequence[Score]) -> Outlook:
    """`scores` best first, the best below 1."""
    horizon = min(max(terms.horizon, terms.lead), FURTHEST * len(days))
    good = [one for one in scores if one.mase < 1 and one.mase <= NEAR_BEST * scores[0].mase]
    rng = random.Random(SEED)  # noqa: S311 - paths, no secrets
    paths: list[Path] = []
    for one in good:
        paths += draw_paths(fit(one.model, days), one.widening, horizon, PATHS // len(good), rng)
    peaks = tuple(quantiles([path[at] for path in paths]) for at in range(horizon))
    at_lead, order = None, None
    if terms.lead <= horizon:
        at_lead = quantiles([max(path[max(0, terms.lead - WEEK) : terms.lead]) for path in paths])
        order = max(0, ceil(at_lead.p90 - limit))
    return Outlook(tuple(one.model.id for one in good), horizon, peaks, fill(paths, limit), at_lead, order)


def quantiles(values: Sequence[float]) -> Quantiles:
    ordered = sorted(values)
    return Quantiles(quantile(ordered, 0.1), quantile(ordered, 0.5), quantile(ordered, 0.9))


def fill(paths: Sequence[Path], limit: float) -> Fills:
    found = [passage(path, limit) for path in paths]
    beyond = len(paths[0]) + 1
    ordered = sorted(day or beyond for day in found)

    def day(share: float) -> int | None:
        at = int(quantile(ordered, share))
        return at if at < beyond else None

    chance = sum(one is not None for one in found) / len(found)
    return Fills(day(0.1), day(0.5), day(0.05), day(0.95), chance)
