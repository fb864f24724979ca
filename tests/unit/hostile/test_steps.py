"""No step is ever ok for an answer that is none: with one answer spoiled, a step where all held is broken or unknown,
unless the fact is the same all the same."""

from dataclasses import replace
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings

from gpustack.ask.probe import CLUSTER, Answer, FactUnavailable
from gpustack.steps import PROBES, STEPS
from tests.unit.hostile.answers import ALL, GARBAGE, spoiled
from tests.unit.hostile.profile import LIMIT, SEED, STEP_CASES
from tests.unit.hostile.worlds import Place, places

pytestmark = pytest.mark.timeout(LIMIT)
Asked = tuple[str, str]
# What steps of the cluster ask of every host: one that cannot tell is judged for that by its own step, of scope host.
OF_HOSTS = {"network.listeners", "gpu.devices"}


@cache
def read(place: Place) -> list[Asked]:
    """What the checks of a step read of their own place, in a world where all of them hold. A host that cannot tell
    who it is is judged for that itself."""
    found = place.judged({})
    assert {judgement.check: judgement.outcome for judgement in found.judgements if judgement.outcome != "holds"} == {}
    all_read = {(seen.answer.probe, seen.answer.where) for one in found.judgements for seen in one.evidence}
    if place.step.scope == "cluster":
        return sorted(asked for asked in all_read if asked[0] not in OF_HOSTS)
    return sorted(asked for asked in all_read if asked[1] in (place.where, CLUSTER))


def one_spoiled(place: Place, random: Random, *, garbage: bool) -> tuple[Asked, Answer]:
    asked = random.choice(read(place))
    before = place.snapshot.answers[asked]
    return asked, replace(before, out=spoiled(random, before.out, GARBAGE if garbage else ALL, 1 if garbage else 3))


PLACES = places()
steps = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.step.id)


def test_no_step_and_no_probe_is_forgotten() -> None:
    assert [place.step for place in PLACES] == list(STEPS)
    assert {probe for place in PLACES for probe, _ in read(place)} == {probe.id for probe in PROBES}


def test_what_a_step_of_the_cluster_need_not_be_told_is_told_to_a_step_of_the_hosts() -> None:
    of_hosts = {asked[0] for place in PLACES if place.step.scope == "host" for asked in read(place)}
    assert of_hosts >= OF_HOSTS


@steps
@settings(STEP_CASES)
@given(seed=SEED)
def test_garbage_is_never_ok(place: Place, seed: int) -> None:
    asked, answer = one_spoiled(place, Random(seed), garbage=True)
    if place.judged({asked: answer}).outcome == "holds":
        probe = next(probe for probe in place.step.probes if probe.id == answer.probe)
        assert probe.fact(answer) == probe.fact(place.snapshot.answers[asked])


@steps
@settings(STEP_CASES)
@given(seed=SEED)
def test_whatever_is_said_each_check_judges(place: Place, seed: int) -> None:
    """Well-formed lies too: every check has an outcome, and one that cannot be told says why."""
    asked, answer = one_spoiled(place, Random(seed), garbage=False)
    found = place.judged({asked: answer})
    assert len(found.judgements) == len(place.step.checks)
    for judgement in found.judgements:
        assert bool(judgement.why) == (judgement.outcome == "unknown")


@steps
def test_no_answer_is_never_ok(place: Place) -> None:
    """Lost, cut, too late, killed: each answer alone makes a check unknown, and the step with it."""
    for asked in read(place):
        before = place.snapshot.answers[asked]
        probe = next(probe for probe in place.step.probes if probe.id == before.probe)
        for answer in (
            Answer(before.probe, before.where, -1, "", lost="no answer"),
            Answer(before.probe, before.where, -1, before.out, cut=True),
            Answer(before.probe, before.where, 124, before.out),
            Answer(before.probe, before.where, 137, before.out),
            Answer(before.probe, before.where, 126, before.out),
        ):
            with pytest.raises(FactUnavailable):
                probe.fact(answer)
            assert "unknown" in {one.outcome for one in place.judged({asked: answer}).judgements}
