"""GPUs that are not those of the last proof are a risk; without a record, or without series, nothing is said."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gpustack.ask.probe import CLUSTER
from gpustack.doctor.states import proven_gpus
from gpustack.doctor.states.state import AbnormalState, observe_all
from gpustack.probes.kubernetes.node_records import PROOF_RECORD, parse_proven_gpus
from tests.unit.doctor.states.objects import build_snapshot, read_recorded_items
from tests.worlds.snapshots.answers import read_case

UUIDS = ("GPU-12746e5e-c057-5b8e-9a90-c5081f275c4a", "GPU-8cc8a48b-6775-54ce-82af-5c7f4ac1842e")
"""The GPUs of host1 in the recorded series, and in the record of their proof."""
NEW_UUID = "GPU-00000000-c057-5b8e-9a90-c5081f275c4a"


def observe_gpus(nodes: list[Any], *edits: tuple[str, str], case: str = "two-hosts") -> tuple[AbnormalState, ...]:
    snapshot = build_snapshot(node__records=nodes)
    answers = {**snapshot.answers, ("dcgm.series", CLUSTER): read_case("dcgm.series", case, *edits)}
    return observe_all(proven_gpus.OBSERVERS, replace(snapshot, answers=answers))[0]


def read_nodes(record: str | None = None) -> list[Any]:
    nodes = read_recorded_items("node.records", "proven")
    if record is not None:
        nodes[0]["metadata"]["annotations"] = {PROOF_RECORD: record}
    return nodes


def test_the_gpus_of_the_last_proof_are_no_finding() -> None:
    assert observe_gpus(read_nodes()) == ()


def test_a_swapped_gpu_is_a_risk() -> None:
    (state,) = observe_gpus(read_nodes(), (UUIDS[0], NEW_UUID))
    assert (state.kind, state.severity, state.subjects) == ("gpus-differ", "risk", ("GPUs of node host1",))
    assert state.message == (
        f"not proven: {NEW_UUID}; no longer heard of: {UUIDS[0]}; the last proof was at 2026-11-30 00:10 UTC"
    )
    assert str(state.next_command).startswith("gpustack prove")


def test_a_missing_gpu_is_a_risk() -> None:
    (state,) = observe_gpus(read_nodes(json.dumps({"at": "2026-11-30T00:10:00+00:00", "gpus": [*UUIDS, NEW_UUID]})))
    assert state.message.startswith(f"no longer heard of: {NEW_UUID};")


@pytest.mark.parametrize("case", ["none", "error"])
def test_silent_exporters_say_nothing(case: str) -> None:
    assert observe_gpus(read_nodes(), case=case) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"gpus": []}',
        '{"at": "2026-11-30T00:10:00", "gpus": []}',
        '{"at": "2026-11-30T00:10:00Z", "gpus": 1}',
    ],
)
def test_a_text_that_is_no_record_says_nothing(text: str) -> None:
    assert parse_proven_gpus(text) is None
    assert observe_gpus(read_nodes(text), (UUIDS[0], NEW_UUID)) == ()
