"""`install --only` names the steps that differ and were not chosen."""

from gpustack.cli.commands.install import list_left_steps
from tests.worlds.results.plans import PODS_GOOD, STEPS, make_answers, make_plan


def test_a_step_that_differs_and_was_not_chosen_is_named() -> None:
    complete = make_plan(["kube1"], [*make_answers("kube1", swap="on"), PODS_GOOD])
    drifted_ids = {state.step for state in complete.drifted_states}
    assert drifted_ids
    assert set(list_left_steps(complete, [step for step in STEPS if step.id not in drifted_ids])) == drifted_ids
    assert list_left_steps(complete, STEPS) == []
