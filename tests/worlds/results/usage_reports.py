"""A report of two days, with everything that one can have, and the bill of it."""

from gpustack.capacity.read import query_usage
from gpustack.capacity.state import Capacity, CurrentState, FreeUnits, IdlePod, WaitingPod
from gpustack.capacity.usage import Usage, group_hours
from gpustack.config.sections.usage import Cost
from gpustack.cost.bill import Bill, build_bill
from gpustack.cost.prices import find_prices
from gpustack.vocabulary import usage_series as series
from tests.worlds.prometheus.usage import BEGIN, Recorder

END = BEGIN + 2 * 86400
COST = Cost.model_validate(
    {
        "currency": "EUR",
        "prices": [{"per_gpu_hour": "1.999"}, {"from": "2026-10-02", "per_gpu_hour": "2.337"}],
        "budgets": {"team-a": 400, "team-b": 50},
    }
)


def query_recorded_usage() -> Usage:
    world = Recorder(48)
    world.record_node("gpu1", 0, 2880, 8, model="NVIDIA H100 80GB HBM3")
    world.record_node("mig1", 0, 2880, 1, model="NVIDIA H100 80GB HBM3", mig_1g_10gb=3, mig_3g_40gb=1)
    world.record_pod("gpu1", "team-a", 17, 1931, 4, active=0.71, team="vision")
    world.record_pod("gpu1", "team-b", 100, 2880, 1, active=0.02)
    world.record_pod("mig1", "team-b", 0, 700, 2, resource="nvidia_com_mig_1g_10gb", profile="1g.10gb", team="search")
    world.put(series.QUEUED_UNITS, 60, 300, 8, namespace="team-a", team="vision", resource="nvidia_com_gpu")
    world.put(series.SCHEDULED_PODS, 300, 301, 2, namespace="team-a")
    world.put(series.WAITED_SECONDS, 300, 301, 28800, namespace="team-a")
    world.lose(1500, 1620)
    world.lose(2000, 2012)
    return query_usage(world.build_source())


def make_capacity() -> Capacity:
    usage, names = query_recorded_usage(), ("namespace", "profile")
    reason = "too few on one node: pods that wait want 8 or more"
    current_state = CurrentState(
        END,
        (WaitingPod("team-a", "train-7", "nvidia_com_gpu", 8, END - 5400, True, 1.0),),
        (
            FreeUnits("gpu1", "nvidia_com_gpu", 3, 1.0, False, (reason,)),
            FreeUnits("mig1", "nvidia_com_mig_3g_40gb", 1, 3 / 7, True, ("no pod waits for them",)),
        ),
        (
            IdlePod("team-b", "notebook-0", "", "StatefulSet/notebook", ("gpu1",), 1, END - 7 * 86400, True),
            IdlePod("team-b", "batch-x", "search", "", ("mig1",), 2, END - 5400, False),
        ),
    )
    return Capacity(usage, names, group_hours(usage, names), current_state)


def make_bill() -> Bill:
    usage = query_recorded_usage()
    return build_bill(usage, ("namespace", "team"), find_prices(COST, usage.hours), COST.unit, COST.budgets)
