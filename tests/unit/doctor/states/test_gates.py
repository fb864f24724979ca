"""A node behind the gate is a note, and after an hour a risk, with the command that opens it."""

from typing import Any

import pytest

from gpustack.doctor.states import gates
from gpustack.doctor.states.state import AbnormalState, observe_all
from tests.unit.doctor.states.objects import build_snapshot, format_time, read_recorded_items


def observe_gates(case: str, minutes_ago: float | None, **spec: Any) -> tuple[AbnormalState, ...]:
    """Observe the recorded node, with the gate closed some minutes before the snapshot, or the node joined then."""
    nodes = read_recorded_items("node.records", case)
    for node in nodes:
        node["spec"] |= spec
        node["metadata"].pop("creationTimestamp")
        for taint in node["spec"]["taints"]:
            taint.pop("timeAdded", None)
        if minutes_ago is not None and case.startswith("joined"):
            node["metadata"]["creationTimestamp"] = format_time(minutes_ago)
        elif minutes_ago is not None:
            node["spec"]["taints"][-1]["timeAdded"] = format_time(minutes_ago)
    return observe_all(gates.OBSERVERS, build_snapshot(node__records=nodes))[0]


@pytest.mark.parametrize(("minutes_ago", "severity"), [(5, "note"), (59, "note"), (61, "risk"), (None, "risk")])
@pytest.mark.parametrize("case", ["joined-behind-the-gate", "reset-behind-the-gate"])
def test_a_gate_is_a_risk_after_an_hour_or_where_its_time_is_unknown(
    case: str, minutes_ago: float | None, severity: str
) -> None:
    (state,) = observe_gates(case, minutes_ago)
    assert (state.kind, state.severity, state.subjects) == ("node-unproven", severity, ("node gpu1",))


def test_the_age_and_the_proof_are_named() -> None:
    (state,) = observe_gates("joined-behind-the-gate", 90)
    assert state.message.startswith("behind the gate since it joined, for 1 h 30 min: it takes no ordinary pods")
    assert str(state.next_command).startswith("gpustack prove")
    assert " -i " in state.next_command


def test_after_a_reset_the_diagnostic_is_named() -> None:
    (state,) = observe_gates("reset-behind-the-gate", None, unschedulable=True)
    assert "since a reset of its GPUs, for an unknown time" in state.message
    assert str(state.next_command).startswith("gpustack gpu diag -i hosts.yml --node gpu1 --cordoned")


def test_a_node_without_a_gate_is_no_finding() -> None:
    nodes = read_recorded_items("node.records", "schedulable")
    assert observe_all(gates.OBSERVERS, build_snapshot(node__records=nodes))[0] == ()
