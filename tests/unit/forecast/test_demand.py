"""Hours of demand, folded into days."""

from dataclasses import replace

from gpustack.forecast.demand import HOURS_A_DAY, Day, Demand, fold

CLOCK = [10.0 + (20.0 if 9 <= hour < 17 else 0.0) for hour in range(HOURS_A_DAY)]


def build_demand(days: int = 5, capacity: float = 100.0, queue: float | None = 0.0, **fields: object) -> Demand:
    count = days * HOURS_A_DAY
    demand = Demand("nvidia_com_gpu", 0, CLOCK * days, [queue] * count, [capacity] * count)
    return replace(demand, **fields)  # type: ignore[arg-type]


def remove_hours(hours: range, demand: Demand) -> Demand:
    return replace(
        demand, allocated_gpus=[None if index in hours else value for index, value in enumerate(demand.allocated_gpus)]
    )


def test_a_day_is_its_highest_hour_with_what_waits() -> None:
    assert fold(build_demand(queue=4.0)) == (Day(34.0),) * 5


def test_a_day_that_is_not_over_is_none() -> None:
    demand = build_demand()
    assert len(fold(replace(demand, allocated_gpus=demand.allocated_gpus[:-1]))) == 4


def test_a_day_with_too_few_hours_is_unknown() -> None:
    assert fold(remove_hours(range(24, 31), build_demand()))[1] == Day(None)


def test_the_highest_hours_may_be_among_the_missing_ones() -> None:
    """The usual course of a day says so: the six hours that are left of the night are 10 of 30."""
    demand = build_demand(days=9)
    assert fold(remove_hours(range(33, 39), demand))[1] == Day(30.0)
    night = replace(
        demand,
        allocated_gpus=[
            5.0 if index in range(24, 48) and value == 10 else value for index, value in enumerate(CLOCK * 9)
        ],
    )
    demand_without = remove_hours(range(33, 39), night)
    demand_without = replace(
        demand_without,
        allocated_gpus=[
            15.0 if index in (39, 40) else value for index, value in enumerate(demand_without.allocated_gpus)
        ],
    )
    assert fold(demand_without)[1] == Day(15.0)


def test_a_day_that_is_known_at_quiet_hours_only_is_unknown() -> None:
    """Demand is zero but from 9 to 15, and those six hours of one day are missing: zero is not its highest hour."""
    hours = [20.0 if 9 <= hour < 15 else 0.0 for hour in range(HOURS_A_DAY)] * 9
    demand = build_demand(days=9, allocated_gpus=hours)
    assert fold(remove_hours(range(33, 39), demand))[1] == Day(None)
    assert fold(remove_hours(range(24, 30), demand))[1] == Day(20.0)


def test_all_taken_and_nobody_known_to_wait_is_a_bound() -> None:
    full = build_demand(capacity=31.0)
    assert fold(replace(full, whole_queue=False)) == (Day(30.0, bound=True),) * 5
    assert fold(full) == (Day(30.0),) * 5
    assert fold(replace(full, queued_gpus=[None] * 120)) == (Day(30.0, bound=True),) * 5


def test_an_unknown_queue_of_an_unknown_capacity_is_a_bound() -> None:
    """Nobody knows that no pod waited, since nobody knows that a GPU was free."""
    demand = build_demand()
    demand_of_unknown_size = replace(demand, queued_gpus=[None] * 120, capacity=[None] * 120)
    assert fold(demand_of_unknown_size) == (Day(30.0, bound=True),) * 5
    assert fold(replace(demand, queued_gpus=[None] * 120)) == (Day(30.0),) * 5
    assert fold(replace(demand, capacity=[None] * 120)) == (Day(30.0),) * 5


def test_who_waits_is_known_where_somebody_does() -> None:
    assert fold(build_demand(capacity=31.0, queue=2.0, whole_queue=False)) == (Day(32.0),) * 5


def test_a_node_that_restarts_is_not_missing() -> None:
    demand = build_demand()
    assert replace(demand, capacity=[100.0] * 118 + [92.0, 92.0]).limit == 100
    assert replace(demand, capacity=[100.0] * 90 + [92.0] * 30).limit == 92
    assert replace(demand, capacity=[100.0] * 96 + [None] * 24).limit is None
