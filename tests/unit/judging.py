"""One check, or one step, judged at one place."""

from gpustack.ask import judge as judging
from gpustack.ask.judge import Check, Judgement
from gpustack.ask.view import View
from gpustack.rollout import plan
from gpustack.rollout.plan import StepState
from gpustack.steps.step import Step


def judge(check: Check, here: View) -> Judgement:
    return judging.judge(plan.check_id(check), check, here.snapshot, here.where)


def state(step: Step, here: View) -> StepState:
    return plan.judge_step(step, here.snapshot, here.where)
