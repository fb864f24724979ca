"""The kind of a line follows from the outcome of its check."""

from gpustack.ask.judge import Judgement, Result, build_ok_result
from gpustack.report.grouping import build_line
from gpustack.rollout.plan import StepState

REMARK = build_ok_result("alerts that cannot fire", "GpuNvlinkFatal")
STATE = StepState("gpu-metrics", "@cluster", "ok", ())


def find_kind(outcome: str, result: Result | None) -> str:
    return build_line(STATE, Judgement("alerts", "@cluster", outcome, result)).kind  # type: ignore[arg-type]


def test_a_check_that_passes_with_a_remark_is_no_difference() -> None:
    assert find_kind("ok", REMARK) == "note"
    assert find_kind("failed", Result("alerts", "all", "none")) == "differs"
    assert find_kind("ok", None) == "ok"


def test_a_remark_is_nothing_that_install_corrects() -> None:
    judgements = (
        Judgement("alerts", "@cluster", "ok", REMARK),
        Judgement("gpus", "@cluster", "failed", Result("GPUs", "all", "none", cure="operator")),
    )
    state = StepState("gpu-metrics", "@cluster", "failed", judgements)
    assert [result.subject for result in state.differences] == ["GPUs"]
    assert [check for check, _ in state.manual_differences] == ["gpus"]
