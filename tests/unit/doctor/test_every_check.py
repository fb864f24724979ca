"""Checks keep to these rules on recorded answers in which all steps hold: none confirms a fault, none reads a probe
that its registration does not name, and none can tell anything once an answer of its own place that it read is lost.
(Another host that cannot tell is judged for that itself.)"""

from dataclasses import replace
from functools import cache

import pytest

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.checks import BY_ID
from gpustack.doctor.diagnose import find_locations
from gpustack.doctor.graph import load_graph
from tests.unit.doctor.checks.evaluation import evaluate
from tests.worlds.snapshots.passing_steps import list_passing_steps

TELLERS = BY_ID
every_check = pytest.mark.parametrize("id", list(TELLERS))


@cache
def list_snapshots() -> list[Snapshot]:
    return list({id(place.snapshot): place.snapshot for place in list_passing_steps()}.values())


def list_judgements(id: str) -> list[tuple[Snapshot, Judgement]]:
    return [
        (snapshot, evaluate(id, snapshot, location))
        for snapshot in list_snapshots()
        for location in find_locations(load_graph(), id, snapshot)
    ]


@every_check
def test_no_fault_is_confirmed_where_all_steps_hold(id: str) -> None:
    """A note is no fault: some of these inventories have one host of two."""
    if id in load_graph().faults and load_graph().faults[id].role != "info":
        assert [judgement for _, judgement in list_judgements(id) if judgement.outcome == "failed"] == []


@every_check
def test_it_reads_what_its_registration_names(id: str) -> None:
    read = {evidence.answer.probe for _, judgement in list_judgements(id) for evidence in judgement.evidence}
    assert read <= {probe.id for probe in TELLERS[id].probes}


@every_check
def test_it_cannot_tell_without_an_answer_that_it_read(id: str) -> None:
    for snapshot, judgement in list_judgements(id):
        if judgement.outcome == "unknown":
            continue
        for evidence in (
            evidence for evidence in judgement.evidence if judgement.location in (evidence.location, CLUSTER)
        ):
            fewer_answers = {key: answer for key, answer in snapshot.answers.items() if answer is not evidence.answer}
            smaller_snapshot = replace(snapshot, answers=fewer_answers)
            assert evaluate(id, smaller_snapshot, judgement.location).outcome == "unknown", evidence.answer.probe


@every_check
def test_it_says_in_words_what_it_found(id: str) -> None:
    for _, judgement in list_judgements(id):
        if judgement.result:
            assert judgement.result.subject
            assert judgement.result.actual
            assert judgement.result.expected or judgement.result.ok
