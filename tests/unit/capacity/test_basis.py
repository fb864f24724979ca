"""The basis of the figures of a report of usage."""

import json
from typing import Any

import pytest

from gpustack.capacity.read import query_usage
from gpustack.capacity.state import Capacity, CurrentState
from gpustack.capacity.usage import Usage, group_hours, sum_hours
from gpustack.report.capacity import json as capacity_json
from gpustack.report.capacity import text as capacity_text
from gpustack.vocabulary import usage_series as series
from tests.unit.report.screen import print_screen
from tests.worlds.prometheus.usage import Recorder, index_by_name

DERIVED_FIGURES = {"total", "unmeasured", "free", "unoffered"}


def build_capacity(usage: Usage) -> Capacity:
    names = ("namespace",)
    return Capacity(usage, names, group_hours(usage, names), CurrentState(usage.end, (), (), ()))


def record_shared_node() -> Usage:
    world = Recorder(10)
    world.record_node("s", 0, 600, 2, gpu_shared=8)
    world.record_node("n", 0, 600, 2)
    world.record_pod("s", "shared", 0, 600, 3, resource="nvidia_com_gpu_shared")
    world.record_pod("n", "alone", 0, 600, 1)
    return query_usage(world.build_source())


def test_each_figure_has_a_basis() -> None:
    hours = index_by_name(group_hours(record_shared_node(), ("namespace",)))["alone",]
    assert {name for name, word in hours.basis.items() if word == "derived"} == DERIVED_FIGURES
    assert hours.basis["allocated"] == "allocated"
    assert {hours.basis[name] for name in ("attributed", "active", "idle")} == {"measured"}


def test_the_activity_of_gpus_that_pods_share_is_copied() -> None:
    usage = record_shared_node()
    rows = index_by_name(group_hours(usage, ("namespace",)))
    assert (rows["shared",].basis["active"], rows["shared",].basis["idle"]) == ("copied", "copied")
    assert rows["shared",].basis["attributed"] == "measured"
    text = print_screen(lambda screen: capacity_text.render_human(screen, build_capacity(usage)))
    assert "6.7^" in next(line for line in text.splitlines() if line.startswith("shared"))
    assert "^" not in next(line for line in text.splitlines() if line.startswith("alone"))
    assert "TOTAL~" in text
    assert "^ copied: of a whole device" in text
    assert "; ~ derived:" in text.replace("\n", " ")


@pytest.mark.parametrize("resource", ["mig_1g_10gb", "mig_1g_10gb_shared"])
def test_the_activity_of_instances_that_pods_share_is_copied(resource: str) -> None:
    """Time slicing of one MIG instance: the exporter repeats its activity for each of four pods."""
    world = Recorder(28)
    units: Any = {resource: 4}
    world.record_node("m", 0, 28 * 60, 1, **units, unit=1 / 28)
    for number in range(4):
        name = f"nvidia_com_{resource}"
        world.record_pod("m", f"n{number}", 0, 28 * 60, 1, active=0.8, resource=name, profile="1g.10gb")
    usage = query_usage(world.build_source())
    hours = sum_hours(group_hours(usage, ()))
    assert (hours.allocated, hours.attributed, hours.active) == pytest.approx((4, 4, 3.2))
    rows = index_by_name(group_hours(usage, ("profile", "namespace")))
    assert (rows["1g.10gb", "n0"].basis["active"], rows["1g.10gb", "n0"].basis["attributed"]) == ("copied", "measured")
    assert usage.doubts[0].startswith("4.0 attributed hours are of GPUs that pods share")


def test_what_no_exporter_measured_has_no_basis() -> None:
    world = Recorder(1)
    world.record_node("n", 0, 60, 1)
    world.put(series.ALLOCATED_UNITS, 0, 60, 1, node="n", namespace="a", resource="nvidia_com_gpu")
    document = json.loads(capacity_json.render_json(build_capacity(query_usage(world.build_source()))))
    (hours,) = (row["hours"] for row in document["rows"] if row["names"] == ["a"])
    assert (hours["unmeasured_gpu_hours"], hours["active_gpu_hours"]) == (1, 0)
    assert {"active_gpu_hours", "idle_gpu_hours"} & set(hours["basis"]) == set()


def test_instances_that_are_offered_as_gpus_are_not_shared() -> None:
    """Strategy single: each pod has an instance of its own, and an exporter measures instances."""
    world = Recorder(7)
    world.record_node("m", 0, 420, 2, gpu=14)
    world.record_pod("m", "a", 0, 420, 7, profile="1g.10gb")
    usage = query_usage(world.build_source())
    assert index_by_name(group_hours(usage, ("namespace",)))["a",].basis["active"] == "measured"
    assert usage.doubts == ()
