"""One check, or one step, judged at one place: the product judges at all places at once."""

from gpustack.ask import judge as whole
from gpustack.ask.judge import Check, Judgement
from gpustack.ask.view import View
from gpustack.rollout.plan import StepState, states
from gpustack.steps.step import Step


def judge(check: Check, here: View) -> Judgement:
    return whole.judge((check,), here.snapshot, (here.where,))[0][0]


def state(step: Step, here: View) -> StepState:
    return next(states(step, here.snapshot, (here.where,)))
