"""Pools of a life as a forecast reads them, and when they were full afterwards."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpustack.forecast.demand import HOURS_A_DAY, Demand
from gpustack.forecast.read import build_demand
from tests.worlds.life.clock import DAY, HOUR, cut
from tests.worlds.life.draw import Life


@dataclass(frozen=True)
class Pool:
    """`demand` is of the known days, `gpus_wanted` of each hour that came: what pods had and waited for;
    `gpus_requested`: what they had had if nobody had had to wait."""

    demand: Demand
    gpus_wanted: tuple[float, ...]
    gpus_requested: tuple[float, ...]

    def find_full(self) -> int | None:
        """The day, 1 is the first that came, with an hour at the limit of the last known day; None without one."""
        limit = self.demand.limit
        full = [limit is not None and hour >= limit for hour in self.gpus_wanted]
        days = (any(full[at : at + HOURS_A_DAY]) for at in range(0, len(full), HOURS_A_DAY))
        return next((day for day, reached in enumerate(days, 1) if reached), None)


def find_peak(hours: tuple[float, ...], last: int) -> float:
    """GPUs, of the week that ends with this day."""
    return max(hours[(last - 7) * HOURS_A_DAY : last * HOURS_A_DAY])


def read_pools(life: Life, *, by_model: bool = False, history: int = 60) -> list[Pool]:
    """Read pools by resource, as without `--nodes`; `by_model` as with it: of nodes by name, and nobody knows who waits
    for them. `history`: days."""
    truth, gaps = life.truth, life.scrapes.list_gaps(life.start, life.truth.known_end)
    hours = range(int(truth.known_end) - history * DAY, int(truth.known_end), HOUR)
    lost = {at for at in hours if sum(cut(*gap, at, at + HOUR) for gap in gaps) >= HOUR}
    named: dict[str, list[str]] = {}
    for pool in life.pools:
        named.setdefault(pool.name if by_model else pool.resource, []).append(pool.name)
    first, known = int(hours.start - life.start) // HOUR, truth.days * HOURS_A_DAY
    pools = []
    for name, of in named.items():
        taken, waiting, room, gpus_requested = (
            add_up(truth.compute_hourly_values(one, what, end=truth.end) for one in of)
            for what in ("allocated", "queued", "schedulable", "demand")
        )
        allocated, queued, capacity = (
            {name: {at: value for at, value in zip(hours, row[first:known], strict=True) if at not in lost}}
            for row in (taken, waiting, room)
        )
        demand = build_demand(name, hours, allocated, {} if by_model else queued, capacity)
        gpus_wanted = tuple(have + wait for have, wait in zip(taken[known:], waiting[known:], strict=True))
        pools.append(Pool(demand, gpus_wanted, tuple(gpus_requested[known:])))
    return pools


def add_up(rows: Iterable[list[float]]) -> list[float]:
    return [sum(values) for values in zip(*rows, strict=True)]
