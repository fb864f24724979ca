"""What every check keeps to, whoever writes it, on worlds of recorded answers in which all steps hold: none confirms a
fault, none reads a probe that its registration does not name, and none can tell anything once an answer of its own
place that it read is lost. (Another host that cannot tell is judged for that itself.)
"""

from dataclasses import replace
from functools import cache

import pytest

from gpustack.ask.judge import Judgement
from gpustack.ask.probe import CLUSTER
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.checks import BY_ID
from gpustack.doctor.diagnose import find_locations
from gpustack.doctor.graph import graph
from tests.worlds.doctor_checks import asked
from tests.worlds.passing_steps import places

TELLERS = BY_ID
every_check = pytest.mark.parametrize("id", list(TELLERS))


@cache
def worlds() -> list[Snapshot]:
    return list({id(place.snapshot): place.snapshot for place in places()}.values())


def told(id: str) -> list[tuple[Snapshot, Judgement]]:
    return [
        (snapshot, asked(id, snapshot, where))
        for snapshot in worlds()
        for where in find_locations(graph(), id, snapshot)
    ]


@every_check
def test_no_fault_is_confirmed_where_all_steps_hold(id: str) -> None:
    """What is noted is none: some of these inventories have one host of two."""
    if id in graph().faults and graph().faults[id].role != "info":
        assert [one for _, one in told(id) if one.outcome == "failed"] == []


@every_check
def test_it_reads_what_its_registration_names(id: str) -> None:
    read = {evidence.answer.probe for _, one in told(id) for evidence in one.evidence}
    assert read <= {probe.id for probe in TELLERS[id].probes}


@every_check
def test_it_cannot_tell_without_an_answer_that_it_read(id: str) -> None:
    for snapshot, one in told(id):
        if one.outcome == "unknown":
            continue
        for evidence in (evidence for evidence in one.evidence if one.where in (evidence.where, CLUSTER)):
            lost = {key: answer for key, answer in snapshot.answers.items() if answer is not evidence.answer}
            less = replace(snapshot, answers=lost)
            assert asked(id, less, one.where).outcome == "unknown", evidence.answer.probe


@every_check
def test_it_says_in_words_what_it_found(id: str) -> None:
    for _, one in told(id):
        if one.result:
            assert one.result.what
            assert one.result.found
            assert one.result.expected or one.result.ok
