"""Steps pass on their snapshots: a check that reads a new probe finds an answer to it there."""

import pytest

from gpustack.steps import STEPS
from tests.worlds.snapshots.passing_steps import list_passing_steps

ADVICE = "add a case `usual` of the probe, which all snapshots have, or the case of this one (tests/worlds/README.md)"


@pytest.mark.parametrize("number", range(len(STEPS)), ids=[step.id for step in STEPS])
def test_all_checks_of_a_step_hold_on_its_snapshot(number: int) -> None:
    place = list_passing_steps()[number]
    unmet = {
        judgement.id: judgement.reason or judgement.result
        for judgement in place.judge({}).judgements
        if judgement.outcome != "ok"
    }
    assert unmet == {}, ADVICE
