"""Checks of steps, evaluated at one location."""

from collections.abc import Mapping

from gpustack.ask import judge as judging
from gpustack.ask.judge import Check, Judgement
from gpustack.ask.snapshot import Snapshot
from gpustack.ask.view import View
from gpustack.rollout import plan
from gpustack.rollout.plan import StepState
from gpustack.steps.step import Step


def judge_check(check: Check, here: View) -> Judgement:
    return judging.judge(plan.format_check_id(check), check, here.snapshot, here.location)


def judge_state(step: Step, here: View) -> StepState:
    return plan.judge_step(step, here.snapshot, here.location)


def judge_checks(step: Step, snapshot: Snapshot, where: str = "") -> dict[str, Judgement]:
    """Return the judgements by check, at the step's only location unless `where` names one."""
    (step_state,) = [plan.judge_step(step, snapshot, where)] if where else plan.plan(snapshot, [step]).states
    return {judgement.id: judgement for judgement in step_state.judgements}


def list_failures(found: Mapping[str, Judgement]) -> dict[str, tuple[str, str]]:
    """Return (actual, cure) of what differs, by check. Fail where a check is unknown."""
    assert find_unknown(found) == set(), {
        judgement.id: judgement.reason for judgement in found.values() if judgement.outcome == "unknown"
    }
    return {check: (one.result.actual, one.result.cure) for check, one in found.items() if one.result}


def find_unknown(found: Mapping[str, Judgement]) -> set[str]:
    return {check for check, judgement in found.items() if judgement.outcome == "unknown"}
