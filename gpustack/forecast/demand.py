"""Demand of one pool hour by hour, and the highest hour of each day."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

HOUR, DAY = 3600, 86400
HOURS_A_DAY = 24
FEWEST_HOURS = 18  # of a day that are known: else its highest hour is not
CENSORED = 0.95  # of the capacity: with so much allocated, others may have been kept out

Hours = Sequence[float | None]
Wanted = tuple[float, bool]
"""Demand of an hour, and whether it may have been more."""


@dataclass(frozen=True)
class Demand:
    """GPUs, means of hours from `begin` on (seconds since 1970, a midnight of UTC); None is unknown. `queued` is what
    pods waited for. `whole_queue`: all demand that waits is in it; else some may wait elsewhere (Kueue, a quota)."""

    pool: str
    begin: int
    allocated: Hours
    queued: Hours
    capacity: Hours
    whole_queue: bool = True

    @property
    def limit(self) -> float | None:
        """What could be allocated on the last day: its highest hour, so that a node that restarts is not missing."""
        return max((value for value in self.capacity[-HOURS_A_DAY:] if value is not None), default=None)


@dataclass(frozen=True)
class Day:
    """`peak` is the highest hour, None where too little is known; with `bound`, demand was that or more."""

    peak: float | None
    bound: bool = False


def fold(demand: Demand) -> tuple[Day, ...]:
    """Whole days. Of up to six missing hours the usual course of a day says whether the highest is among them."""
    hours = [want(demand, hour) for hour in range(len(demand.allocated))]
    days = [hours[at : at + HOURS_A_DAY] for at in range(0, len(hours) - HOURS_A_DAY + 1, HOURS_A_DAY)]
    usual = course(days)
    return tuple(highest(day, usual) for day in days)


def want(demand: Demand, hour: int) -> Wanted | None:
    allocated, queued, capacity = demand.allocated[hour], demand.queued[hour], demand.capacity[hour]
    if allocated is None:
        return None
    full = capacity is not None and allocated >= CENSORED * capacity
    known = queued is not None and (queued > 0 or demand.whole_queue)
    return allocated + (queued or 0.0), full and not known


def course(days: Sequence[Sequence[Wanted | None]]) -> list[float]:
    """Of each hour of the day its usual share of the day's highest."""
    whole = [[one[0] for one in day if one] for day in days if all(day)]
    shares = [[value / max(day) for value in day] for day in whole if max(day) > 0]
    return [median(hour) for hour in zip(*shares, strict=True)] if shares else [1.0] * HOURS_A_DAY


def highest(day: Sequence[Wanted | None], usual: Sequence[float]) -> Day:
    known = {hour: one for hour, one in enumerate(day) if one}
    if len(known) < FEWEST_HOURS:
        return Day(None)
    peak, bound = max(value for value, _ in known.values()), any(more for _, more in known.values())
    missing = [usual[hour] for hour in range(HOURS_A_DAY) if hour not in known]
    if missing:
        levels = [value / usual[hour] for hour, (value, _) in known.items() if usual[hour] > 0]
        peak = max(peak, median(levels or [0.0]) * max(missing))
    return Day(peak, bound)
