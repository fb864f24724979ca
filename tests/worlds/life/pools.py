"""Pools of a life as a forecast reads them, and when they were full afterwards."""

from dataclasses import dataclass

from gpustack.forecast.demand import HOURS_A_DAY, Demand
from tests.worlds.life.clock import HOUR, cut
from tests.worlds.life.draw import Life


@dataclass(frozen=True)
class Pool:
    """`demand` is of the known days, `wanted` of each hour that came: what pods had and waited for."""

    demand: Demand
    wanted: tuple[float, ...]

    def find_full(self) -> int | None:
        """The day, 1 is the first that came, with an hour at the limit of the last known day; None without one."""
        limit = self.demand.limit
        full = [limit is not None and hour >= limit for hour in self.wanted]
        days = (any(full[at : at + HOURS_A_DAY]) for at in range(0, len(full), HOURS_A_DAY))
        return next((day for day, reached in enumerate(days, 1) if reached), None)

    def highest(self, last: int) -> float:
        """GPUs, of the week that ends with this day."""
        return max(self.wanted[(last - 7) * HOURS_A_DAY : last * HOURS_A_DAY])


def read_pools(life: Life, *, queue: bool = True) -> list[Pool]:
    """Those whose units are GPUs or instances; without the queue as where nodes are chosen by name."""
    truth, known = life.truth, life.truth.days * HOURS_A_DAY
    gaps = life.scrapes.gaps(life.start, truth.known)
    begins = [life.start + hour * HOUR for hour in range(known)]
    lost = [sum(cut(*gap, begin, begin + HOUR) for gap in gaps) >= HOUR for begin in begins]
    pools = []
    for pool in life.pools:
        if pool.sharing == "time-slicing":
            continue
        taken, waiting, room = (
            truth.hourly(pool.name, what, until=truth.end) for what in ("allocated", "queued", "schedulable")
        )
        allocated, queued, capacity = (
            [None if gone else value for value, gone in zip(values, lost, strict=False)]
            for values in (taken, waiting, room)
        )
        seen = queued if queue else [None] * known
        demand = Demand(pool.name, int(life.start), allocated, seen, capacity, whole_queue=queue)
        wanted = tuple(a + b for a, b in zip(taken[known:], waiting[known:], strict=True))
        pools.append(Pool(demand, wanted))
    return pools
