"""The forecast of one pool: the day on which it is full and the GPUs to order, or the reason why there is none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Literal

from gpustack.events import format_count
from gpustack.exit_status import ExitStatus, select_status
from gpustack.forecast.backtest import Score, backtest
from gpustack.forecast.demand import HOURS_A_DAY, Day, Demand, fold
from gpustack.forecast.outlook import Outlook, Terms, predict_outlook
from gpustack.forecast.step import find_step
from gpustack.forecast.trend import WEEK
from gpustack.times import DAY, format_day

FEWEST_DAYS = 4 * WEEK  # two seasons to fit and a fortnight to test on
MIN_KNOWN_SHARE = 0.75  # of the days
RECENT = 2 * WEEK
MOST_BOUNDS = WEEK  # of the recent days

Reason = Literal["no-capacity", "no-demand", "short-history", "gaps", "hidden-demand", "no-skill"]


@dataclass(frozen=True)
class PoolForecast:
    """Hold the forecast of a pool. `days` are counted from the first that is known, at `begin`, in seconds since 1970.
    `limit` is the capacity less the reserve. `full` of the last 14 days reached it. `outlook` is None where there is no
    forecast, for the `reason` that `message` explains."""

    pool: str
    begin: int
    days: tuple[Day, ...]
    capacity: float | None
    limit: float | None
    full: int
    scores: tuple[Score, ...]
    outlook: Outlook | None
    reason: Reason | None
    message: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Forecast:
    """Hold the forecast of all pools. `end` is the midnight of UTC until which the history reaches, in seconds since
    1970. Day 1 begins there."""

    pools: tuple[PoolForecast, ...]
    terms: Terms
    end: int

    @property
    def exit_status(self) -> ExitStatus:
        orders = [pool.outlook.order if pool.outlook else None for pool in self.pools]
        is_short = any(order is not None and order > 0 for order in orders)
        return select_status(differs=is_short, unknown=None in orders)


def forecast(demands: Sequence[Demand], terms: Terms) -> Forecast:
    """Forecast at least one pool; all have the same hours."""
    end = demands[0].begin + len(demands[0].allocated_gpus) // HOURS_A_DAY * DAY
    return Forecast(tuple(forecast_pool(demand, terms) for demand in demands), terms, end)


def forecast_pool(demand: Demand, terms: Terms) -> PoolForecast:
    """Forecast a pool. The result for the same demand is always the same."""
    all_days, capacity = fold(demand), demand.limit
    days = tuple(dropwhile(lambda day: day.peak is None, all_days))
    begin = demand.begin + (len(all_days) - len(days)) * DAY
    limit = None if capacity is None else max(0.0, capacity - terms.reserve)
    scores = backtest(days)
    refusal = find_refusal(days, limit, scores)
    outlook = None if refusal or limit is None else predict_outlook(days, limit, terms, scores)
    notes = tuple(list_notes(days, begin, terms, outlook))
    full = sum(limit is not None and day.peak is not None and day.peak >= limit for day in days[-RECENT:])
    reason, message = refusal or (None, "")
    return PoolForecast(demand.pool, begin, days, capacity, limit, full, scores, outlook, reason, message, notes)


def find_refusal(days: Sequence[Day], limit: float | None, scores: Sequence[Score]) -> tuple[Reason, str] | None:
    """Find the reason why there is no forecast."""
    peaks = [day.peak for day in days if day.peak is not None]
    bounds = sum(day.bound for day in days[-RECENT:])
    if limit is None:
        return "no-capacity", "what the nodes of this pool can allocate is not known for the last day"
    if len(days) < FEWEST_DAYS:
        verb = "is" if len(days) == 1 else "are"
        reason = f"there {verb} {format_count(len(days), 'day')} of history; it takes {FEWEST_DAYS}"
        return "short-history", reason
    if len(peaks) < MIN_KNOWN_SHARE * len(days) or not scores:
        percent = MIN_KNOWN_SHARE * 100
        return "gaps", f"of {len(days)} days {len(peaks)} have enough hours; it takes {percent:.0f} % of them"
    if not any(peaks[-FEWEST_DAYS:]):
        return "no-demand", f"nobody asked for these GPUs in the last {FEWEST_DAYS} days"
    if bounds > MOST_BOUNDS:
        reason = "all GPUs were taken, or may have been, and who waited for more is not known"
        return "hidden-demand", f"on {bounds} of the last {RECENT} days {reason}"
    if scores[0].mase >= 1:
        errors = f"{scores[0].mase:.2f} times those of repeating the last week"
        return "no-skill", f"errors of the best model ({scores[0].model.id}) were {errors}"
    return None


def list_notes(days: Sequence[Day], begin: int, terms: Terms, outlook: Outlook | None) -> Iterator[str]:
    """List notes that a reader needs beside the numbers."""
    bounds = sum(day.bound for day in days)
    if bounds:
        reason = "all GPUs were taken, or may have been, and who waited is not known: demand was that or more"
        yield f"On {format_count(bounds, 'day')} {reason}."
    unknown = sum(day.peak is None for day in days)
    if unknown:
        yield f"{format_count(unknown, 'day')} of {len(days)} had too few hours."
    step = find_step({number: day.peak for number, day in enumerate(days) if day.peak is not None})
    if step:
        change = f"{'rose' if step[1] > 0 else 'fell'} by {abs(step[1]):.0f} units"
        yield f"Demand {change} on {format_day(begin + step[0] * DAY)} at once; the trend is without that."
    if outlook and outlook.horizon < max(terms.horizon, terms.lead):
        yield f"{len(days)} days of history reach {outlook.horizon} days, no further."
