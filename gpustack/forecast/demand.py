"""Demand of one pool by hour, and the highest hour of each day."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

HOURS_A_DAY = 24
FEWEST_HOURS = 18  # of a day that are known: else its highest hour is not
CENSORED_SHARE = 0.95  # of the capacity: with so much allocated, others may have been kept out

Hours = Sequence[float | None]
HourDemand = tuple[float, bool]
"""Demand of an hour, and whether it may have been more."""


@dataclass(frozen=True)
class Demand:
    """Hold the demand of a pool: GPUs, as means of hours from `begin` on (seconds since 1970, a midnight of UTC); None
    is unknown. Pods waited for `queued_gpus`. With `whole_queue` all waiting demand is in it; else some may wait
    elsewhere (Kueue, a quota)."""

    pool: str
    begin: int
    allocated_gpus: Hours
    queued_gpus: Hours
    capacity: Hours
    whole_queue: bool = True

    @property
    def limit(self) -> float | None:
        """Return the GPUs that could be allocated on the last day, by its highest hour, so that a node that restarts is
        not missing."""
        return max((value for value in self.capacity[-HOURS_A_DAY:] if value is not None), default=None)


@dataclass(frozen=True)
class Day:
    """Hold the highest hour of a day; `peak` is None where too little is known. With `bound`, demand was that or
    more."""

    peak: float | None
    bound: bool = False


def fold(demand: Demand) -> tuple[Day, ...]:
    """Fold hours to whole days. With up to six missing hours the usual course of a day tells whether the highest is
    among them."""
    hours = [compute_demand(demand, hour) for hour in range(len(demand.allocated_gpus))]
    days = [hours[start : start + HOURS_A_DAY] for start in range(0, len(hours) - HOURS_A_DAY + 1, HOURS_A_DAY)]
    course = compute_course(days)
    return tuple(find_peak(day, course) for day in days)


def compute_demand(demand: Demand, hour: int) -> HourDemand | None:
    """Compute the demand of an hour. Where a GPU is known to be free, nobody waits for one; else it may have been more
    unless the queue is known."""
    allocated_gpus, queued_gpus, capacity = demand.allocated_gpus[hour], demand.queued_gpus[hour], demand.capacity[hour]
    if allocated_gpus is None:
        return None
    may_be_full = capacity is None or allocated_gpus >= CENSORED_SHARE * capacity
    if queued_gpus is None:
        return allocated_gpus, may_be_full
    return allocated_gpus + queued_gpus, may_be_full and not (queued_gpus > 0 or demand.whole_queue)


def compute_course(days: Sequence[Sequence[HourDemand | None]]) -> list[float]:
    """Compute the usual share of each hour of the day in the day's highest hour."""
    whole_days = [[hour_demand[0] for hour_demand in day if hour_demand] for day in days if all(day)]
    shares = [[demand / max(day) for demand in day] for day in whole_days if max(day) > 0]
    return [median(hour) for hour in zip(*shares, strict=True)] if shares else [1.0] * HOURS_A_DAY


def find_peak(day: Sequence[HourDemand | None], usual: Sequence[float]) -> Day:
    known_hours = {hour: hour_demand for hour, hour_demand in enumerate(day) if hour_demand}
    if len(known_hours) < FEWEST_HOURS:
        return Day(None)
    peak = max(demand for demand, _ in known_hours.values())
    is_bound = any(may_be_more for _, may_be_more in known_hours.values())
    missing_shares = [usual[hour] for hour in range(HOURS_A_DAY) if hour not in known_hours]
    if any(missing_shares):
        levels = [demand / usual[hour] for hour, (demand, _) in known_hours.items() if usual[hour] > 0]
        if not levels:
            return Day(None)
        peak = max(peak, median(levels) * max(missing_shares))
    return Day(peak, is_bound)
