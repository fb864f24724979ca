"""Steps are never ok for an answer that is none: with one answer spoiled, a step where all held is broken or unknown,
unless the fact is the same all the same."""

from dataclasses import replace
from functools import cache
from random import Random

import pytest
from hypothesis import given, settings

from gpustack.ask.probe import CLUSTER, Answer, FactUnavailable
from gpustack.steps import PROBES, STEPS
from tests.unit.hostile.answers import ALL_SPOILS, GARBAGE, spoil_text
from tests.unit.hostile.profile import LIMIT, SEED, STEP_CASES
from tests.worlds.snapshots.passing_steps import PassingStep, list_passing_steps

pytestmark = pytest.mark.timeout(LIMIT)
Place = tuple[str, str]
# What steps of the cluster ask of every host, and the step that judges one that cannot tell.
OF_EACH_HOST = {"gpu.devices": "gpu-driver", "network.listeners": "prereqs", "system.identity": "prereqs"}


@cache
def read(place: PassingStep) -> list[Place]:
    """List what the checks of a step read of their own place, in a world where all of them hold. A host that cannot
    tell who it is, or which GPUs it has, is judged for that itself."""
    step_state = place.judge({})
    all_read = {
        (evidence.answer.probe, evidence.answer.location)
        for judgement in step_state.judgements
        for evidence in judgement.evidence
    }
    if place.step.scope == "cluster":
        return sorted(
            (probe, location) for probe, location in all_read if location == CLUSTER or probe not in OF_EACH_HOST
        )
    return sorted(place_read for place_read in all_read if place_read[1] in (place.location, CLUSTER))


def test_what_is_asked_of_each_host_is_judged_there() -> None:
    """A step that is for every host judges it, and the answer is spoiled here as well."""
    for probe, id in OF_EACH_HOST.items():
        (place,) = (place for place in PLACES if place.step.id == id)
        assert place.step.scope == "host"
        assert all(place.step.applies(place.snapshot.inventory, host) for host in place.snapshot.inventory.hosts)
        assert (probe, place.location) in read(place)


def spoil_one(place: PassingStep, random: Random, *, garbage: bool) -> tuple[Place, Answer]:
    place_read = random.choice(read(place))
    before = place.snapshot.answers[place_read]
    return place_read, replace(
        before, stdout=spoil_text(random, before.stdout, GARBAGE if garbage else ALL_SPOILS, 1 if garbage else 3)
    )


PLACES = list_passing_steps()
# No check reads the first six: the plan and its warnings tell them. The others are read where containerd.io is
# missing, where receivers have files, where the ServiceMonitor is ours, where the spec has a proxy, a name as the
# endpoint, clients of NodePorts, or a driver in containers.
REPORTED_PROBES = {
    "gpu.stranded-pods", "network.rdma-adapters", "gpu.unattended-upgrades", "gpu.quotas", "monitoring.sample-rate",
    "containerd.runc",
    "containerd.candidates", "alerting.secret", "applied.service-monitors", "egress.pods", "network.endpoint-name",
    "proof.services", "gpu.holding-pods",
}  # fmt: skip
steps = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.step.id)


def test_no_step_and_no_probe_is_forgotten() -> None:
    assert [place.step for place in PLACES] == list(STEPS)
    assert {probe for place in PLACES for probe, _ in read(place)} | REPORTED_PROBES == {probe.id for probe in PROBES}


@steps
@settings(STEP_CASES)
@given(seed=SEED)
def test_garbage_is_never_ok(place: PassingStep, seed: int) -> None:
    place_read, answer = spoil_one(place, Random(seed), garbage=True)
    if place.judge({place_read: answer}).outcome == "ok":
        probe = next(probe for probe in place.step.probes if probe.id == answer.probe)
        assert probe.extract_fact(answer) == probe.extract_fact(place.snapshot.answers[place_read])


@steps
@settings(STEP_CASES)
@given(seed=SEED)
def test_whatever_the_answer_each_check_judges(place: PassingStep, seed: int) -> None:
    """Well-formed lies too: every check has an outcome, and one that is unknown says why."""
    place_read, answer = spoil_one(place, Random(seed), garbage=False)
    step_state = place.judge({place_read: answer})
    assert len(step_state.judgements) == len(place.step.checks)
    for judgement in step_state.judgements:
        assert bool(judgement.reason) == (judgement.outcome == "unknown")


@steps
def test_no_answer_is_never_ok(place: PassingStep) -> None:
    """Lost, cut, too late, killed: each answer alone makes a check unknown, and the step with it."""
    for place_read in read(place):
        before = place.snapshot.answers[place_read]
        probe = next(probe for probe in place.step.probes if probe.id == before.probe)
        for answer in (
            Answer(before.probe, before.location, -1, "", missing_reason="no answer"),
            Answer(before.probe, before.location, -1, before.stdout, cut=True),
            Answer(before.probe, before.location, 124, before.stdout),
            Answer(before.probe, before.location, 137, before.stdout),
            Answer(before.probe, before.location, 126, before.stdout),
        ):
            with pytest.raises(FactUnavailable):
                probe.extract_fact(answer)
            assert "unknown" in {judgement.outcome for judgement in place.judge({place_read: answer}).judgements}
