"""Hours of GPUs against what was put in: pods that come and go, nodes that change, MIG, shares, gaps."""

from math import isfinite

import pytest

from gpustack.capacity.read import query_usage
from gpustack.capacity.usage import group_hours, sum_hours
from gpustack.errors import MissingDataError
from gpustack.vocabulary import usage_series as series
from gpustack.vocabulary.contradiction import REMEDY
from tests.worlds.prometheus.usage import BEGIN, Recorder, index_by_name


def test_a_pod_has_its_gpus_from_minute_to_minute() -> None:
    world = Recorder(48)
    world.record_node("n1", 0, 48 * 60, 8)
    world.record_pod("n1", "a", 30, 90, 2, active=0.5)
    world.record_pod("n1", "b", 0, 48 * 60, 1, active=0.01)
    usage = query_usage(world.build_source())
    rows = index_by_name(group_hours(usage, ("namespace",)))
    assert rows["a",].allocated == pytest.approx(2)
    assert rows["a",].active == pytest.approx(1)
    assert (rows["a",].idle, rows["b",].idle) == (0, pytest.approx(48))
    assert rows["",].free == pytest.approx(8 * 48 - 2 - 48)
    assert sum_hours(group_hours(usage, ())).total == pytest.approx(8 * 48)
    assert (usage.recorded_hours, usage.coverage, usage.doubts) == (48, 1, ())


def test_nodes_that_come_and_go_count_by_the_minute() -> None:
    world = Recorder(24)
    world.record_node("old", 0, 600, 4)
    world.record_node("new", 300, 1440, 8, model="NVIDIA H200")
    world.record_pod("old", "a", 0, 600, 4)
    world.record_pod("new", "a", 600, 1440, 8)
    rows = index_by_name(group_hours(query_usage(world.build_source()), ("model", "namespace")))
    assert rows["NVIDIA H100", "a"].allocated == pytest.approx(40)
    assert rows["NVIDIA H200", "a"].allocated == pytest.approx(8 * 14)
    assert rows["NVIDIA H200", ""].free == pytest.approx(8 * 5)


def test_a_mig_instance_is_its_slices_and_the_rest_of_a_layout_is_not_offered() -> None:
    world = Recorder(7)
    world.record_node("m", 0, 420, 1, mig_1g_10gb=3, mig_3g_40gb=1)
    world.record_pod("m", "a", 0, 420, 2, resource="nvidia_com_mig_1g_10gb", profile="1g.10gb")
    rows = index_by_name(group_hours(query_usage(world.build_source()), ("profile", "namespace")))
    assert rows["1g.10gb", "a"].allocated == pytest.approx(2)
    assert rows["1g.10gb", "a"].attributed == pytest.approx(2)
    assert rows["1g.10gb", ""].free == pytest.approx(1)
    assert rows["3g.40gb", ""].free == pytest.approx(3)
    assert rows["", ""].unoffered == pytest.approx(1)


def test_instances_offered_as_gpus_count_as_slices() -> None:
    """Strategy single: the exporter has their profile, the resource has not."""
    world = Recorder(7)
    world.record_node("m", 0, 420, 2, gpu=14)
    world.record_pod("m", "a", 0, 420, 7, profile="1g.10gb")
    rows = index_by_name(group_hours(query_usage(world.build_source()), ("profile", "namespace")))
    assert rows["", "a"].allocated == rows["", "a"].attributed == pytest.approx(7)


def test_a_share_of_a_gpu_is_a_part_of_it() -> None:
    world = Recorder(10)
    world.record_node("s", 0, 600, 2, gpu_shared=8)
    world.record_pod("s", "a", 0, 600, 3, resource="nvidia_com_gpu_shared")
    usage = query_usage(world.build_source())
    rows = index_by_name(group_hours(usage, ("namespace",)))
    assert rows["a",].allocated == rows["a",].attributed == pytest.approx(7.5)
    assert usage.doubts[0].startswith("7.5 attributed hours are of GPUs that pods share")
    assert rows["",].total == pytest.approx(12.5)


def test_four_pods_with_a_quarter_each_have_one_gpu() -> None:
    """The exporter repeats the activity of the GPU for each of them."""
    world = Recorder(1)
    world.record_node("s", 0, 60, 1, gpu=4)
    for number in range(4):
        world.record_pod("s", f"n{number}", 0, 60, 1, active=0.8)
    hours = sum_hours(group_hours(query_usage(world.build_source()), ("namespace",)))
    assert (hours.allocated, hours.attributed, hours.active) == pytest.approx((1, 1, 0.8))
    assert (hours.total, hours.free) == pytest.approx((1, 0))


def test_what_the_processes_of_a_pod_use_is_no_share_of_a_share() -> None:
    """The exporter has the utilisation of each pod's own processes: 60 % and 20 % of one GPU."""
    world = Recorder(10)
    world.record_node("s", 0, 600, 1, gpu=4)
    world.record_pod("s", "a", 0, 600, 1, active=0.6, scope=series.OF_POD)
    world.record_pod("s", "b", 0, 600, 1, active=0.2, scope=series.OF_POD)
    world.record_pod("s", "c", 0, 600, 1, active=0.01, scope=series.OF_POD)
    usage = query_usage(world.build_source())
    rows = index_by_name(group_hours(usage, ("namespace",)))
    assert [rows[name,].active for name in "abc"] == pytest.approx([6, 2, 0.1])
    assert [rows[name,].attributed for name in "abc"] == pytest.approx([2.5] * 3)
    assert [rows[name,].idle for name in "abc"] == pytest.approx([0, 0, 2.5])
    assert {rows[name,].basis["active"] for name in "abc"} == {"measured"}
    assert usage.doubts == ()


def test_a_short_gap_is_as_the_rest_of_its_hour_and_a_long_one_is_none() -> None:
    world = Recorder(100)
    world.record_node("n", 0, 6000, 8)
    world.record_pod("n", "a", 0, 6000, 8)
    world.lose(125, 140)
    world.lose(300, 480)
    usage = query_usage(world.build_source())
    assert sum_hours(group_hours(usage, ())).allocated == pytest.approx(8 * 97)
    assert [usage.recorded_hours, usage.bridged_hours] == [97, pytest.approx(0.25)]
    (gap,) = usage.gaps
    assert ((gap.begin - BEGIN) // 3600, (gap.end - BEGIN) // 3600) == (5, 8)
    assert usage.doubts == (
        "3.0 of 100 hours were not recorded: 2026-10-01 05:00 to 2026-10-01 08:00 (UTC)",
        "15 min of gaps shorter than half an hour count as the rest of their hour",
    )


def test_what_an_exporter_did_not_say_is_unmeasured_and_not_idle() -> None:
    world = Recorder(24)
    world.record_node("n", 0, 1440, 1)
    world.record_pod("n", "a", 0, 1440, 1, active=0)
    world.lose(60, 180, series.ATTRIBUTED_UNITS, series.ACTIVE_UNITS, series.IDLE_UNITS, series.GPUS, series.UNIT)
    (row,) = [row for row in group_hours(query_usage(world.build_source()), ("namespace",)) if row.names == ("a",)]
    assert [row.hours.allocated, row.hours.idle, row.hours.unmeasured] == [24, 22, pytest.approx(2)]


def test_requests_that_are_lost_are_not_shorter_hours_of_exporters() -> None:
    """kube-state-metrics was restarted."""
    world = Recorder(10)
    world.record_node("n", 0, 600, 1)
    world.record_pod("n", "a", 0, 600, 1)
    world.lose(70, 82, series.OFFERED_UNITS, series.ALLOCATED_UNITS)
    (row,) = [row for row in group_hours(query_usage(world.build_source()), ("namespace",)) if row.names == ("a",)]
    assert [row.hours.allocated, row.hours.attributed] == [pytest.approx(10), pytest.approx(10)]


def test_hours_without_requests_are_in_no_sum() -> None:
    """kube-state-metrics was down, the exporters were not."""
    world = Recorder(10)
    world.record_node("n", 0, 600, 2)
    world.record_pod("n", "a", 0, 600, 1, active=0.01)
    world.lose(120, 300, series.OFFERED_UNITS, series.ALLOCATED_UNITS)
    usage = query_usage(world.build_source())
    hours = sum_hours(group_hours(usage, ()))
    assert [hours.allocated, hours.attributed, hours.idle, hours.free, hours.unoffered] == pytest.approx(
        [7, 7, 7, 7, 0]
    )
    assert usage.recorded_hours == 7


def test_history_that_begins_later_is_named() -> None:
    world = Recorder(48)
    world.record_node("n", 0, 2880, 1)
    world.lose(0, 24 * 60 + 20)
    usage = query_usage(world.build_source())
    assert usage.recorded_hours == pytest.approx(24)
    assert "24.0 of 48 hours were not recorded" in usage.doubts[0]


def test_more_samples_than_their_interval_allows_are_refused() -> None:
    world = Recorder(4)
    world.put(series.SAMPLE, 0, 240, series.INTERVAL)
    with pytest.raises(MissingDataError) as excinfo:
        query_usage(world.build_source())
    assert excinfo.value.reference == "capacity-interval"


def test_pools_are_of_a_label_of_nodes() -> None:
    world = Recorder(2)
    world.record_node("n", 0, 120, 1)
    world.put("kube_node_labels", 0, 120, 1, node="n", label_example_com_pool="spot")
    rows = index_by_name(group_hours(query_usage(world.build_source(), pool_label="example.com/pool"), ("pool",)))
    assert rows["spot",].total == pytest.approx(2)


def test_a_renamed_team_is_joined_and_a_missing_label_is_doubted() -> None:
    world = Recorder(72)
    world.record_node("n", 0, 4320, 8)
    world.record_pod("n", "a", 0, 2160, 2, team="vision")
    world.record_pod("n", "a", 2160, 4320, 2, team="perception")
    world.record_pod("n", "b", 0, 4320, 2)
    usage = query_usage(world.build_source())
    assert usage.doubts == (
        "50 % of the allocated hours have no team label: b",
        (
            "in a, team vision ends on 2026-10-02 and perception begins: if it was renamed, "
            "capacity.renamed: {vision: perception} adds their hours"
        ),
    )
    joined_usage = query_usage(world.build_source(), renames={"vision": "perception"})
    assert index_by_name(group_hours(joined_usage, ("team",)))["perception",].allocated == pytest.approx(144)
    assert len(joined_usage.doubts) == 1


def test_hours_of_units_that_nothing_measures_are_unknown() -> None:
    """Two units may be two GPUs, or two of ten shares of one."""
    recorder = Recorder(24)
    recorder.record_node("n1", 0, 1440, 8)
    recorder.record_pod("n1", "a", 0, 1440, 2)
    recorder.put(series.OFFERED_UNITS, 0, 1440, 10, node="shared", resource="nvidia_com_gpu")
    recorder.put(series.ALLOCATED_UNITS, 0, 1440, 2, node="shared", resource="nvidia_com_gpu", namespace="a")
    usage = query_usage(recorder.build_source())
    rows = index_by_name(group_hours(usage, ("namespace",)))
    assert rows["a",].allocated == pytest.approx(48)
    assert sum_hours(group_hours(usage, ())).total == pytest.approx(8 * 24)
    assert (usage.coverage, usage.complete, usage.unknown_units) == (1, False, {"shared": 240})
    assert any("the GPU-hours of shared are unknown" in doubt for doubt in usage.doubts)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), -1.0, 1e300])
@pytest.mark.parametrize(
    "name", [series.OFFERED_UNITS, series.ALLOCATED_UNITS, series.UNIT, series.GPUS, series.ACTIVE_UNITS]
)
def test_a_value_that_cannot_be_is_no_sample(name: str, value: float) -> None:
    recorder = Recorder(24)
    recorder.record_node("n1", 0, 1440, 8)
    recorder.record_pod("n1", "a", 0, 1440, 2)
    labels = next(iter(recorder.spans[name]))
    recorder.spans[name][labels] = [(0, 60, value), (60, 1440, recorder.spans[name][labels][0][2])]
    usage = query_usage(recorder.build_source())
    assert (usage.complete, usage.impossible_hours) == (False, {name: 1})
    assert f"1 hours of {name} are left out: their values are no numbers, or cannot be" in usage.doubts
    assert all(
        isfinite(number) and number >= 0 for row in group_hours(usage, ("day",)) for number in vars(row.hours).values()
    )


def test_a_sum_that_rounding_made_negative_is_a_sample() -> None:
    """A month of 1,000 GPUs in a real Prometheus had 1,955 such hours."""
    recorder = Recorder(24)
    recorder.record_node("n1", 0, 1440, 8)
    recorder.record_pod("n1", "a", 0, 1440, 2)
    labels = next(iter(recorder.spans[series.ACTIVE_UNITS]))
    recorder.spans[series.ACTIVE_UNITS][labels] = [(0, 1440, -4.440892098500626e-16)]
    usage = query_usage(recorder.build_source())
    assert (usage.complete, usage.impossible_hours) == (True, {})


def test_a_node_that_is_gone_at_the_end_is_named() -> None:
    recorder = Recorder(24)
    recorder.record_node("stays", 0, 1440, 8)
    recorder.record_node("gone", 0, 600, 8)
    usage = query_usage(recorder.build_source())
    assert usage.complete, "a node may be removed"
    assert usage.gone_nodes == {"gone": BEGIN + 10 * 3600}
    assert "nothing was known of gone (until 2026-10-01 10:00)" in "; ".join(usage.doubts)


def test_a_gpu_with_dead_counters_is_named_with_both_values_and_the_remedy() -> None:
    recorder = Recorder(24)
    recorder.record_node("n1", 0, 1440, 8)
    recorder.record_pod("n1", "a", 0, 1440, 2, active=0.99)
    gpu = {"node": "n1", "UUID": "GPU-a", "gpu": "3"}
    recorder.put(series.CONTRADICTING, 60, 240, 0.98, witness="utilisation", **gpu)
    recorder.put(series.CONTRADICTING, 300, 360, 0.9, witness="power", **gpu | {"gpu": "4", "UUID": "GPU-b"})
    recorder.put(series.CONTRADICTING, 0, 3, 0.9, witness="utilisation", **gpu | {"gpu": "5", "UUID": "GPU-c"})
    usage = query_usage(recorder.build_source())
    pairs = [doubt.partition(": both cannot be true, so ") for doubt in usage.doubts]
    assert [(pair, activity) for pair, _, activity in pairs] == [
        (
            "n1 GPU 3, 3.0 hours: DCGM_FI_PROF_GR_ENGINE_ACTIVE is 0 %, DCGM_FI_DEV_GPU_UTIL is 98 %",
            f"utilisation counts; {REMEDY}",
        ),
        (
            "n1 GPU 4, 1.0 hours: DCGM_FI_PROF_GR_ENGINE_ACTIVE is 0 %, DCGM_FI_DEV_POWER_USAGE is 90 % of the most",
            f"its activity is unknown; {REMEDY}",
        ),
    ]


def test_many_gpus_with_dead_counters_are_summed_up() -> None:
    recorder = Recorder(24)
    recorder.record_node("n1", 0, 1440, 8)
    for number in range(8):
        gpu = {"node": "n1", "UUID": f"GPU-{number}", "gpu": str(number)}
        recorder.put(series.CONTRADICTING, 0, 60, 0.98, witness="utilisation", **gpu)
    assert query_usage(recorder.build_source()).doubts[-1] == "so it is with 4 more GPUs, for 4.0 hours"
