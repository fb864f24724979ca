"""Made lives: what must add up adds up, whatever is drawn."""

from itertools import pairwise

import pytest

from tests.worlds.life.activity import draw_restarts
from tests.worlds.life.clock import DAY, HOUR, NO_TIME, START, stream
from tests.worlds.life.draw import Life, draw
from tests.worlds.life.pod import Pod
from tests.worlds.life.steps import Steps

SEEDS = range(3)
lives = pytest.mark.parametrize("life", [draw(seed, small=seed > 0) for seed in SEEDS], ids=SEEDS)


def test_the_same_seed_is_the_same_life() -> None:
    assert draw(5, small=True) == draw(5, small=True)
    assert draw(5, small=True).truth.pods != draw(6, small=True).truth.pods


@pytest.mark.parametrize("seed", SEEDS)
def test_more_days_change_nothing_before_them(seed: int) -> None:
    short, long = draw(seed, 20, small=True), draw(seed, 20, 30, small=True)
    for quantity in ("allocated", "busy", "active", "attributed"):
        assert long.truth.compute_hours(("uid",), quantity) == pytest.approx(
            short.truth.compute_hours(("uid",), quantity)
        )
    assert [(wait.pod.uid, wait.seconds, wait.bound) for wait in long.truth.list_waits()] == [
        (wait.pod.uid, wait.seconds, wait.bound) for wait in short.truth.list_waits()
    ]
    names = {"kube_pod_container_resource_requests", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "up"}
    tracks = [
        [(track.labels, track.runs, track.stale) for track in life.build_series(60, names)] for life in (short, long)
    ]
    assert sorted(map(str, tracks[0])) == sorted(map(str, tracks[1]))


def test_restarts_do_not_depend_on_when_one_looks() -> None:
    life = draw(0)
    middle = life.start + 30 * DAY
    long = [pod for pod in life.truth.pods if pod.start < middle < pod.end]
    restarts = [(draw_restarts(0, pod, middle), draw_restarts(0, pod, life.truth.end)) for pod in long]
    assert any(first for first, _ in restarts)
    for first, second in restarts:
        assert [span for span in first if span[1] < middle] == [span for span in second if span[1] < middle]


@lives
def test_a_slot_has_one_pod_and_is_there(life: Life) -> None:
    spans_by_slot: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for pod in life.truth.pods:
        assert len(pod.slots) == (pod.units if pod.node else 0)
        assert pod.creation <= pod.binding <= pod.end <= pod.deletion or not pod.node
        for slot in pod.slots:
            assert pod.node
            spans_by_slot.setdefault((pod.on, slot), []).append((pod.binding, pod.end))
            assert any(begin <= pod.binding and pod.end <= end for begin, end in pod.node.up_spans)
            assert not any(
                number == slot and begin < pod.end and pod.binding < end for number, begin, end in pod.node.broken_slots
            )
        assert not any(begin <= pod.binding < end for begin, end in (pod.node.cordoned_spans if pod.node else ()))
    for spans in spans_by_slot.values():
        assert all(first[1] <= second[0] for first, second in pairwise(sorted(spans)))


@lives
def test_capacity_is_what_is_allocated_and_what_is_free(life: Life) -> None:
    for pool in life.pools:
        steps = {
            quantity: life.truth.build_steps(pool.name, quantity)
            for quantity in ("capacity", "allocatable", "schedulable", "allocated")
        }
        for moment in sorted({time for step in steps.values() for time in step.times if time < life.truth.end}):
            current_values = {
                quantity: steps_of_quantity.find_value(moment) for quantity, steps_of_quantity in steps.items()
            }
            assert 0 <= current_values["allocated"] <= current_values["allocatable"] <= current_values["capacity"]
            assert 0 <= current_values["schedulable"] <= current_values["allocatable"]


@lives
def test_nobody_waits_for_what_is_free(life: Life) -> None:
    """At drawn moments, no waiting pod would fit on a node that takes pods."""
    rng, pods = stream(life.seed, "moments"), life.truth.pods
    for _ in range(100):
        moment = rng.uniform(life.start, life.truth.end)
        bound_units = [(pod.on, pod.units) for pod in pods if pod.binding <= moment < pod.end]
        free = {
            node.name: node.pool.slots
            - sum(units for name, units in bound_units if name == node.name)
            - sum(begin <= moment < end for _, begin, end in node.broken_slots)
            for node in life.nodes
            if any(begin <= moment < end for begin, end in node.up_spans)
            and not any(begin <= moment < end for begin, end in node.cordoned_spans)
        }
        for pod in pods:
            if pod.creation < moment < min(pod.binding, pod.deletion):
                fits = [name for name, units in free.items() if name.startswith(pod.pool.name) and units >= pod.units]
                assert fits == []


@lives
@pytest.mark.parametrize("kind", ["allocated", "attributed", "busy", "active", "idle"])
def test_parts_make_the_whole(life: Life, kind: str) -> None:
    hours = life.truth.compute_hours((), kind)[()]
    for names in (("team",), ("namespace",), ("label", "pool"), ("uid",), ("on",), ("kind", "model", "resource")):
        assert sum(life.truth.compute_hours(names, kind).values()) == pytest.approx(hours)
    middle = life.start + 30.3 * DAY
    halves = (life.truth.compute_hours((), kind, end=middle), life.truth.compute_hours((), kind, begin=middle))
    assert sum(half[()] for half in halves) == pytest.approx(hours)


@lives
def test_allocated_is_busy_and_idle(life: Life) -> None:
    hours = {
        quantity: life.truth.compute_hours(("uid",), quantity)
        for quantity in ("allocated", "attributed", "busy", "active", "idle")
    }
    for uid, allocated in hours["allocated"].items():
        assert allocated == pytest.approx(hours["busy"][uid] + hours["idle"][uid])
        assert -1e-9 <= hours["active"][uid] <= hours["busy"][uid] + 1e-9
    one_pod = life.truth.compute_hours(("uid",), "attributed", of=lambda pod: pod.pool.sharing != "time-slicing")
    assert one_pod == pytest.approx({uid: hours["allocated"][uid] for uid in one_pod})


@lives
def test_hours_of_pods_are_those_of_the_pool(life: Life) -> None:
    for pool in life.pools:

        def is_of_pool(pod: Pod, name: str = pool.name) -> bool:
            return pod.pool.name == name

        (hours,) = life.truth.compute_hours((), unit="units", of=is_of_pool).values()
        assert sum(life.truth.compute_hourly_values(pool.name, "allocated")) == pytest.approx(hours)
        assert life.truth.compute_hours(("pool",))[pool.name,] == pytest.approx(hours * pool.share)
        peaks = life.truth.compute_hourly_values(pool.name, "allocated", "peak")
        assert all(
            mean <= peak
            for mean, peak in zip(life.truth.compute_hourly_values(pool.name, "allocated"), peaks, strict=True)
        )


def test_a_hole_counts_as_if_it_had_not_been() -> None:
    life = draw(1, small=True)
    hole = (life.start + 10 * DAY, life.start + 11 * DAY)
    parts = (life.truth.compute_hours(holes=[hole]), life.truth.compute_hours(begin=hole[0], end=hole[1]))
    assert sum(part[()] for part in parts) == pytest.approx(life.truth.compute_hours()[()])


def test_full_is_the_day_on_which_demand_reaches_what_there_is() -> None:
    truths = [draw(seed, 30, 60, small=True).truth for seed in range(8)]
    days = [truth.find_full_day("l40s", hours=8) for truth in truths]
    assert None in days
    truth, day = next((truth, day) for truth, day in zip(truths, days, strict=True) if day and day > 3)
    hours = [
        demand_of_hour >= available_units
        for demand_of_hour, available_units in zip(
            truth.compute_hourly_values("l40s", "demand", end=truth.end),
            truth.compute_hourly_values("l40s", "schedulable", end=truth.end),
            strict=True,
        )
    ]
    counts = [sum(hours[number * 24 : number * 24 + 24]) for number in range(90)]
    assert counts[day] >= 8 > max(counts[:day])


def test_steps_are_exact() -> None:
    steps = Steps([(10, 30, 2.0), (20, NO_TIME, 1.0)])
    assert [steps.find_value(time) for time in (9, 10, 20, 30)] == [0, 2, 3, 1]
    assert steps.compute_mean(0, 40) == pytest.approx((10 * 2 + 10 * 3 + 10) / 40)
    assert (steps.compute_peak(0, 20), steps.compute_peak(0, 21)) == (2, 3)
    assert Steps([(HOUR / 2, HOUR, 4.0)]).compute_hourly_values(0, 2 * HOUR) == [2, 0]
    demand = draw(0, 20, small=True).truth.build_steps("l40s", "demand")
    hours = range(START, START + 20 * DAY, HOUR)
    assert demand.compute_hourly_values(START, START + 20 * DAY) == pytest.approx(
        [demand.compute_mean(hour, hour + HOUR) for hour in hours]
    )
    assert demand.compute_hourly_values(START, START + 20 * DAY, "peak") == [
        demand.compute_peak(hour, hour + HOUR) for hour in hours
    ]
