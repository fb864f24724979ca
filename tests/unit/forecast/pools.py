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
        days = (any(full[index : index + HOURS_A_DAY]) for index in range(0, len(full), HOURS_A_DAY))
        return next((day for day, is_full in enumerate(days, 1) if is_full), None)


def find_peak(hours: tuple[float, ...], last: int) -> float:
    """GPUs, of the week that ends with this day."""
    return max(hours[(last - 7) * HOURS_A_DAY : last * HOURS_A_DAY])


def read_pools(life: Life, *, by_model: bool = False, history: int = 60) -> list[Pool]:
    """Read pools by resource, as without `--nodes`; `by_model` as with it: of nodes by name, and nobody knows who waits
    for them. `history`: days."""
    truth, gaps = life.truth, life.scrapes.list_gaps(life.start, life.truth.known_end)
    hours = range(int(truth.known_end) - history * DAY, int(truth.known_end), HOUR)
    lost_hours = {hour for hour in hours if sum(cut(*gap, hour, hour + HOUR) for gap in gaps) >= HOUR}
    pools_by_name: dict[str, list[str]] = {}
    for pool in life.pools:
        pools_by_name.setdefault(pool.name if by_model else pool.resource, []).append(pool.name)
    first, known_hours = int(hours.start - life.start) // HOUR, truth.days * HOURS_A_DAY
    pools = []
    for name, pools_of_name in pools_by_name.items():
        allocated_units, waiting, room, gpus_requested = (
            add_up(truth.compute_hourly_values(pool, quantity, end=truth.end) for pool in pools_of_name)
            for quantity in ("allocated", "queued", "schedulable", "demand")
        )
        allocated, queued_units, capacity = (
            {
                name: {
                    hour: value
                    for hour, value in zip(hours, row[first:known_hours], strict=True)
                    if hour not in lost_hours
                }
            }
            for row in (allocated_units, waiting, room)
        )
        demand = build_demand(name, hours, allocated, {} if by_model else queued_units, capacity)
        gpus_wanted = tuple(
            have + wait for have, wait in zip(allocated_units[known_hours:], waiting[known_hours:], strict=True)
        )
        pools.append(Pool(demand, gpus_wanted, tuple(gpus_requested[known_hours:])))
    return pools


def add_up(rows: Iterable[list[float]]) -> list[float]:
    return [sum(values) for values in zip(*rows, strict=True)]
