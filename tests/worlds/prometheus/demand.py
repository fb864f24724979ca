"""Pools of GPUs over months, from mechanisms: jobs that arrive and last, people at work, services. It knows no model of
gpustack.forecast.

Jobs arrive at a rate that grows and has its hours and weekdays; each takes GPUs for a time with a long tail. Services
follow the hours of their users. The pool's size is drawn so that some fill soon, some late and some never.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate

from gpustack.forecast.demand import Demand
from gpustack.forecast.outlook import Terms
from gpustack.forecast.pool import Forecast, forecast

HOURS_A_DAY = 24
BEFORE, AFTER = 60, 90  # days that are known, and that come
BEGIN = 1_780_272_000  # 2026-06-01, a Monday
SIZES = (1, 1, 1, 2, 2, 4, 8)
Growth = Callable[[float], float]


@dataclass(frozen=True)
class World:
    """`demanded_units`: demand of each hour of both times, whatever the pool has."""

    mechanism: str
    demand: Demand
    demanded_units: tuple[float, ...]
    limit: float

    @property
    def fills(self) -> int | None:
        """The day, 1 is the first that comes, with an hour at the limit or above; None where there is none."""
        for day in range(1, AFTER + 1):
            begin = (BEFORE + day - 1) * HOURS_A_DAY
            if max(self.demanded_units[begin : begin + HOURS_A_DAY]) >= self.limit:
                return day
        return None


def draw_linear(rng: random.Random) -> Growth:
    slope = rng.uniform(0.002, 0.012)
    return lambda day: 1 + slope * day


def draw_exponential(rng: random.Random) -> Growth:
    rate = rng.uniform(0.003, 0.012)
    return lambda day: (1 + rate) ** day


def draw_saturating(rng: random.Random) -> Growth:
    ceiling, middle, width = rng.uniform(1.3, 2.0), rng.uniform(30, 90), rng.uniform(10, 25)
    return lambda day: 1 + (ceiling - 1) / (1 + 2.718 ** ((middle - day) / width))


def draw_flat(rng: random.Random) -> Growth:
    return lambda day: 1.0


def draw_shrinking(rng: random.Random) -> Growth:
    rate = rng.uniform(0.001, 0.005)
    return lambda day: (1 - rate) ** day


def draw_step(rng: random.Random) -> Growth:
    moment, height, slope = rng.uniform(12, 50), rng.uniform(0.2, 0.6), rng.uniform(0.001, 0.008)
    return lambda day: 1 + slope * day + (height if day >= moment else 0.0)


def draw_wandering(rng: random.Random) -> Growth:
    """Teams come and go: no trend, and none of it is known beforehand."""
    value, values = 1.0, []
    for _ in range(BEFORE + AFTER + 1):
        value = max(0.3, value + rng.gauss(0, 0.02))
        values.append(value)
    return lambda day: values[int(day)]


GROWTHS = {
    "linear": draw_linear,
    "exponential": draw_exponential,
    "saturating": draw_saturating,
    "flat": draw_flat,
    "shrinking": draw_shrinking,
    "step": draw_step,
    "wandering": draw_wandering,
}


def draw_hours(rng: random.Random, growth: Growth) -> list[float]:
    """GPUs, each hour."""
    hours = (BEFORE + AFTER) * HOURS_A_DAY
    size = 30 * 20 ** rng.random()  # GPUs, about: 30 to 600
    night, weekend = rng.uniform(0.1, 0.8), rng.uniform(0.2, 0.9)
    steady, length = rng.uniform(0.1, 0.5), rng.uniform(3, 30)  # share of services; hours that a job lasts
    rate = size * (1 - steady) / (length * sum(SIZES) / len(SIZES))
    changes, services = [0] * (hours + 1), [0] * hours
    for hour in range(-10 * HOURS_A_DAY, hours):
        grown_demand = growth(max(0, hour) / HOURS_A_DAY)
        busy = compute_activity(hour, night, weekend)
        for _ in range(draw_poisson(rng, rate * grown_demand * busy)):
            gpus, last = rng.choice(SIZES), max(1, round(rng.lognormvariate(0, 1) * length / 1.65))
            changes[min(hours, max(0, hour))] += gpus
            changes[min(hours, max(0, hour + last))] -= gpus
        if hour >= 0:
            services[hour] = round(size * steady * grown_demand * (0.7 + 0.3 * busy))
    return [float(jobs + service) for jobs, service in zip(accumulate(changes), services, strict=False)]


def compute_activity(hour: int, night: float, weekend: float) -> float:
    day, clock = divmod(hour, HOURS_A_DAY)
    awake = 1.0 if 8 <= clock < 19 else night
    return awake * (weekend if day % 7 >= 5 else 1.0)


def draw_poisson(rng: random.Random, mean: float) -> int:
    """Draw a number of events by the times between them."""
    count, arrival = 0, rng.expovariate(1.0)
    while arrival < mean:
        count += 1
        arrival += rng.expovariate(1.0)
    return count


def draw_world(mechanism: str, seed: str, *, hidden: bool = False, gaps: bool = False) -> World:
    """`hidden`: who waits is not seen. `gaps`: Prometheus was away for hours and days."""
    rng = random.Random(seed)
    demand_of_hours = draw_hours(rng, GROWTHS[mechanism](rng))
    known_hours = BEFORE * HOURS_A_DAY
    recent = max(demand_of_hours[known_hours - 14 * HOURS_A_DAY : known_hours])
    limit = float(round(recent * (rng.uniform(0.85, 1.0) if hidden else rng.uniform(1.02, 1.8))))
    allocated: list[float | None] = [min(value, limit) for value in demand_of_hours[:known_hours]]
    queued_units: list[float | None] = [
        0.0 if hidden else max(0.0, value - limit) for value in demand_of_hours[:known_hours]
    ]
    if gaps:
        for _ in range(rng.randint(3, 8)):
            begin, length = rng.randrange(known_hours), rng.choice((1, 3, 6, 30, 72))
            for index in range(begin, min(known_hours, begin + length)):
                allocated[index] = queued_units[index] = None
    demand = Demand("nvidia_com_gpu", BEGIN, allocated, queued_units, [limit] * known_hours, whole_queue=not hidden)
    return World(mechanism, demand, tuple(demand_of_hours), limit)


def forecast_pools() -> Forecast:
    """Three pools: one that grows, one of which too little is known, one that is full while nobody is known to wait."""
    growing = replace(draw_world("linear", "7").demand, capacity=[660.0] * BEFORE * HOURS_A_DAY)
    late = BEFORE // 2 * HOURS_A_DAY + 12 * HOURS_A_DAY
    short = replace(
        growing, pool="nvidia_com_mig_1g_10gb", allocated_gpus=[None] * late + list(growing.allocated_gpus[late:])
    )
    hidden_demand = replace(draw_world("step", "2", hidden=True, gaps=True).demand, pool="nvidia_com_gpu_shared")
    return forecast([growing, short, hidden_demand], Terms(lead=14, horizon=21, reserve=2))
