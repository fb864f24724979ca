"""The doctor in front of answers that are none: nothing falls over, and garbage neither confirms nor refutes."""

from dataclasses import replace
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings

from gpustack.ask.judge import Judgement
from gpustack.ask.snapshot import Snapshot
from gpustack.doctor.checks import CHECKS
from gpustack.doctor.diagnose import diagnose, judge_by_checks
from gpustack.doctor.graph import load_graph
from tests.unit.hostile.answers import ALL_SPOILS, GARBAGE, spoil_text
from tests.unit.hostile.profile import LIMIT, SEED, STEP_CASES
from tests.worlds.snapshots.passing_steps import list_passing_steps

pytestmark = pytest.mark.timeout(LIMIT)
Place = tuple[str, str]
# Where anything but `ok` is a way of not being ready: states, never roots.
ANYTHING_ELSE = {"kube.readyz"}


@cache
def list_snapshots() -> list[Snapshot]:
    return list({id(place.snapshot): place.snapshot for place in list_passing_steps()}.values())


def judge_snapshot(snapshot: Snapshot) -> dict[tuple[str, str], Judgement]:
    return {by_check.place: by_check for by_check in judge_by_checks(load_graph(), CHECKS, snapshot)}


def read(judgement: Judgement) -> set[Place]:
    return {(evidence.answer.probe, evidence.answer.location) for evidence in judgement.evidence}


def list_asked_keys(snapshot: Snapshot) -> list[Place]:
    ids = {probe.id for probe in (probe for check in CHECKS for probe in check.probes)}
    return sorted(key for key in snapshot.answers if key[0] in ids)


def spoil_one(random: Random, *, garbage: bool) -> tuple[Snapshot, Snapshot, Place]:
    before = random.choice(list_snapshots())
    key = random.choice(list_asked_keys(before))
    answer = before.answers[key]
    bad = replace(
        answer, stdout=spoil_text(random, answer.stdout, GARBAGE if garbage else ALL_SPOILS, 1 if garbage else 3)
    )
    return before, replace(before, answers={**before.answers, key: bad}), key


@settings(STEP_CASES)
@given(seed=SEED)
def test_garbage_neither_confirms_nor_refutes(seed: int) -> None:
    before, after, key = spoil_one(Random(seed), garbage=True)
    probe = next(probe for probe in (probe for check in CHECKS for probe in check.probes) if probe.id == key[0])
    for evaluation in judge_snapshot(after).values():
        if key not in read(evaluation) or evaluation.outcome == "unknown":
            continue
        if evaluation.outcome == "ok" or key[0] not in ANYTHING_ELSE:
            assert after.require_fact(probe, key[1]) == before.require_fact(probe, key[1])


@settings(STEP_CASES)
@given(seed=SEED)
def test_whatever_the_answer_there_is_a_diagnosis(seed: int) -> None:
    _, after, _ = spoil_one(Random(seed), garbage=False)
    for judgement in diagnose(after).judgements.values():
        assert bool(judgement.reason) == (judgement.outcome == "unknown")
