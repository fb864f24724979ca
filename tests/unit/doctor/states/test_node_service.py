"""Cordons that gpustack left, budgets that hold up every drain, and kernels without a driver for the next boot."""

from dataclasses import replace
from typing import Any

import pytest

from gpustack.doctor.diagnose import diagnose
from gpustack.doctor.states import budgets, cordons
from gpustack.doctor.states.state import AbnormalState, observe_all
from tests.unit.doctor.states.objects import build_healthy, build_snapshot, format_time, read_recorded_items, render
from tests.worlds.snapshots.answers import read_case


def observe_cordons(case: str, minutes_ago: float, reboot_record: str = "") -> tuple[AbnormalState, ...]:
    """Observe the recorded nodes, with the cordon's time moved to some minutes before the snapshot."""
    nodes = read_recorded_items("node.records", case)
    for node in nodes:
        annotations = node["metadata"].get("annotations", {})
        if text := annotations.get("gpustack.io/cordon", ""):
            start = text.index('"at": "') + len('"at": "')
            annotations["gpustack.io/cordon"] = f'{text[:start]}{format_time(minutes_ago)}"}}'
            annotations |= {"gpustack.io/reboot": reboot_record} if reboot_record else {}
    return observe_all(cordons.OBSERVERS, build_snapshot(node__records=nodes))[0]


@pytest.mark.parametrize(("reboot_record", "verb"), [("", "uncordon"), ('{"boot": "1"}', "reboot")])
def test_a_node_that_gpustack_left_cordoned_is_a_risk(reboot_record: str, verb: str) -> None:
    (state,) = observe_cordons("cordoned-by-gpustack", 90, reboot_record)
    assert (state.kind, state.severity, state.subjects) == ("node-left-cordoned", "risk", ("node gpu1",))
    assert "ann@desk" in state.message
    assert state.message.endswith("not uncordoned since: 4 nvidia.com/gpu accept no new pods")
    assert str(state.next_command).startswith(f"gpustack node {verb}")
    assert " -i " in state.next_command


def test_a_drain_of_the_last_hour_is_no_finding() -> None:
    assert observe_cordons("cordoned-by-gpustack", 59) == ()


@pytest.mark.parametrize("case", ["cordoned-again-by-a-person", "schedulable"])
def test_the_cordon_of_a_person_may_stay(case: str) -> None:
    assert observe_cordons(case, 9000) == ()


@pytest.mark.parametrize(
    ("case", "lacking"),
    [
        ("not-built", "the module for 6.12.96+deb13-amd64"),
        ("newer-kernel", "linux-headers-6.1.0-28-amd64"),
    ],
)
def test_a_next_kernel_without_a_driver_is_drift_that_a_plan_names(case: str, lacking: str) -> None:
    answer = replace(read_case("gpu.kernels", case), location="k2")
    snapshot = build_healthy()
    diagnosis = diagnose(replace(snapshot, answers={**snapshot.answers, ("gpu.kernels", "k2"): answer}))
    text = " ".join(render(diagnosis).split())
    assert f"packages for the next kernel: expected headers and a module, actual missing: {lacking} (k2)" in text
    assert "gpustack plan" in text


def observe_budgets(**status: Any) -> list[str]:
    recorded_budgets = read_recorded_items("node.disruption-budgets", "two-teams")
    web = recorded_budgets[1]
    web["status"] |= status
    states, _ = observe_all(budgets.OBSERVERS, build_snapshot(node__disruption_budgets=recorded_budgets))
    return [subject for state in states for subject in state.subjects]


@pytest.mark.parametrize(
    ("status", "subjects"),
    [
        ({"expectedPods": 2}, ["budget team-a/web"]),
        ({"expectedPods": 3}, []),
        ({"expectedPods": 0, "desiredHealthy": 0}, []),
        ({"expectedPods": 2, "observedGeneration": 0}, []),
        ({}, []),
    ],
    ids=["all needed", "one may go", "no pods", "not counted yet", "not recorded"],
)
def test_a_budget_that_needs_all_of_its_pods_is_a_risk(status: dict[str, Any], subjects: list[str]) -> None:
    """Constructed from k8s.io/api policy/v1 PodDisruptionBudgetStatus, on a recorded budget with two healthy pods."""
    assert observe_budgets(**status) == subjects
