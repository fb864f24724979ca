"""The gate of a node: what it says, what it keeps, and which nodes get one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpustack.config.spec import Spec
from gpustack.nodes.gate import needs_gate
from gpustack.probes.kubernetes.gate import PASSED_DIAGNOSTIC, REBOOT, RESET, Cause, add_gate, find_gate, remove_gate
from gpustack.probes.kubernetes.node_records import NODE_RECORDS
from gpustack.probes.proof import NODES
from tests.worlds.programs.node_api import HOSTS
from tests.worlds.snapshots.answers import read_case

MOMENT = datetime(2026, 11, 30, 10, tzinfo=UTC)
TEAM: dict[str, Any] = {"key": "team", "value": "a", "effect": "NoSchedule"}


def test_a_gate_keeps_the_other_taints_and_its_first_time() -> None:
    taints = add_gate(add_gate([TEAM], REBOOT, MOMENT), RESET, MOMENT + timedelta(hours=1))
    assert taints[0] == TEAM
    gate = find_gate(taints)
    assert gate
    assert (gate.cause, gate.closed_at) == (RESET, MOMENT)
    assert remove_gate(taints) == [TEAM]


@pytest.mark.parametrize(
    ("causes", "cause"),
    [
        ((RESET, REBOOT), RESET),
        ((RESET, PASSED_DIAGNOSTIC), PASSED_DIAGNOSTIC),
        ((RESET, PASSED_DIAGNOSTIC, REBOOT), REBOOT),
        ((RESET, PASSED_DIAGNOSTIC, RESET), RESET),
    ],
)
def test_only_the_diagnostic_ends_the_demand_for_it(causes: tuple[Cause, ...], cause: str) -> None:
    taints: list[Any] = []
    for next_cause in causes:
        taints = add_gate(taints, next_cause, MOMENT)
    gate = find_gate(taints)
    assert gate
    assert gate.cause == cause
    assert gate.needs_diagnostic is (cause == RESET)


@pytest.mark.parametrize("effect", ["NoExecute", "PreferNoSchedule"])
def test_a_taint_of_another_effect_is_no_gate(effect: str) -> None:
    taint = {"key": "gpustack.io/unproven", "effect": effect}
    assert find_gate([taint]) is None
    assert remove_gate([taint]) == [taint]


@pytest.mark.parametrize(
    ("case", "cause", "needs_diagnostic"),
    [("joined-behind-the-gate", "", False), ("reset-behind-the-gate", "reset", True)],
)
def test_a_recorded_gate_is_read(case: str, cause: str, *, needs_diagnostic: bool) -> None:
    (record,) = NODE_RECORDS.extract_fact(read_case(NODE_RECORDS.id, case))
    assert record.gate
    assert (record.gate.cause, record.gate.needs_diagnostic) == (cause, needs_diagnostic)
    (node,) = NODES.extract_fact(read_case(NODES.id, case))
    assert node.gate == cause
    assert "gpustack.io/unproven:NoSchedule" not in node.taints


def test_control_planes_get_no_gate_and_nothing_without_the_setting() -> None:
    spec = Spec.model_validate({"gpu": {"gate": True}})
    assert [needs_gate(spec, host) for host in HOSTS] == [False, True]
    assert not any(needs_gate(Spec(), host) for host in HOSTS)
