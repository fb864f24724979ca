"""Checks of steps, evaluated at one location."""

from collections.abc import Mapping

from gpustack.ask import judge as judging
from gpustack.ask.judge import Check, Judgement
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.rollout import plan
from gpustack.rollout.plan import StepState
from gpustack.steps.step import Step, format_check_name


def judge_check(check: Check, view: View) -> Judgement:
    return judging.judge(format_check_name(check), check, view.snapshot, view.location)


def judge_state(step: Step, view: View) -> StepState:
    return plan.judge_step(step, view.snapshot, view.location)


def judge_checks(step: Step, snapshot: Snapshot, location: str = "") -> dict[str, Judgement]:
    """Return the judgements by check, at the step's only location unless `location` names one."""
    (step_state,) = [plan.judge_step(step, snapshot, location)] if location else plan.plan(snapshot, [step]).states
    return {judgement.id: judgement for judgement in step_state.judgements}


def list_failures(judgements: Mapping[str, Judgement]) -> dict[str, tuple[str, str]]:
    """Return (actual, cure) of what differs, by check. Fail where a check is unknown."""
    assert find_unknown(judgements) == set(), {
        judgement.id: judgement.reason for judgement in judgements.values() if judgement.outcome == "unknown"
    }
    return {
        check: (judgement.result.actual, judgement.result.cure)
        for check, judgement in judgements.items()
        if judgement.result
    }


def find_unknown(judgements: Mapping[str, Judgement]) -> set[str]:
    return {check for check, judgement in judgements.items() if judgement.outcome == "unknown"}
