"""A host that booted after the last proof of its node is a note; without a record or a boot nothing is said."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gpustack.doctor.states import unproven_boots
from gpustack.doctor.states.state import AbnormalState, observe_all
from gpustack.probes.kubernetes.node_records import PROOF_RECORD
from tests.unit.doctor.states.objects import build_snapshot, read_recorded_items
from tests.worlds.snapshots.answers import make_answer

BOOTED_AT = 1796000400
"""2026-11-30 01:00 UTC."""
GATE = {"key": "gpustack.io/unproven", "effect": "NoSchedule"}


def observe_boots(proven_at: str, boot: str = f"@{BOOTED_AT}", **spec: Any) -> tuple[AbnormalState, ...]:
    """Observe the recorded node as k1, with this time in its record and this boot of its host."""
    nodes = read_recorded_items("node.records", "proven")
    record = json.dumps({"at": proven_at, "gpus": ["GPU-1"]}) if proven_at else ""
    nodes[0]["metadata"] |= {"name": "k1", "annotations": {PROOF_RECORD: record} if record else {}}
    nodes[0]["spec"] |= spec
    snapshot = build_snapshot(node__records=nodes)
    times = make_answer("recent.files", f"== now\n{BOOTED_AT + 900}\n== booted\n{boot}\n== files\n")
    answers = {**snapshot.answers, ("recent.files", "k1"): replace(times, location="k1")}
    states, judgements = observe_all(unproven_boots.OBSERVERS, replace(snapshot, answers=answers))
    assert "unknown" not in {judgement.outcome for judgement in judgements}, "it would hide what other nodes have"
    return states


def test_a_boot_after_the_proof_is_a_note() -> None:
    (state,) = observe_boots("2026-11-30T00:10:00+00:00")
    assert (state.kind, state.severity, state.subjects, state.locations) == (
        "boot-unproven",
        "note",
        ("node k1",),
        ("k1",),
    )
    assert state.message == ("booted at 2026-11-30 01:00 UTC, after the last proof of its GPUs at 2026-11-30 00:10 UTC")
    assert str(state.next_command).startswith("gpustack prove -i hosts.yml --limit k1")


@pytest.mark.parametrize("proven_at", ["2026-11-30T01:10:00+00:00", "2026-11-30T00:59:00+00:00"])
def test_a_proof_after_the_boot_or_about_its_time_is_no_finding(proven_at: str) -> None:
    assert observe_boots(proven_at) == ()


def test_a_node_that_was_never_proven_is_not_called_booted_since() -> None:
    assert observe_boots("") == ()


@pytest.mark.parametrize("boot", ["", "never"])
def test_a_boot_that_is_unknown_is_no_finding(boot: str) -> None:
    assert observe_boots("2026-11-30T00:10:00+00:00", boot) == ()


def test_a_node_behind_the_gate_has_a_state_of_its_own() -> None:
    assert observe_boots("2026-11-30T00:10:00+00:00", taints=[GATE]) == ()
