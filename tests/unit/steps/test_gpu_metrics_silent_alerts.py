"""Alerts that cannot fire with the fields that exporters send."""

from gpustack.ask.probe import CLUSTER
from gpustack.steps.gpu.metrics import STEP
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.gpus import judge
from tests.worlds.snapshots.judge import find_unknown

INPUTS = "dcgm.alert-inputs"


def load_case(probe: str, name: str) -> Answers:
    return place_answers(CLUSTER, read_case(probe, name))


def read_silent_alerts(case: str) -> str:
    """Read which alerts cannot fire. The check is ok all the same."""
    judgements = judge(STEP, load_case(INPUTS, case)).values()
    (judgement,) = [judgement for judgement in judgements if judgement.id == "silent-alerts"]
    assert judgement.outcome == "ok"
    assert judgement.result is not None
    return judgement.result.actual


def test_alerts_without_their_fields_are_named_and_fail_nothing() -> None:
    words = read_silent_alerts("default-list").split("; ")
    assert "GpuHealthFail, GpuHealthWarn of Tesla T4: no DCGM_EXP_GPU_HEALTH_STATUS" in words
    assert "GpuRowRemapFailed of Tesla T4: no DCGM_FI_DEV_ROW_REMAP_FAILURE" in words
    assert not [text for text in words if "GpuRowRemapFailed" in text and "L40S" in text], "it has the field"
    assert [text for text in words if text.startswith("Xids of NVIDIA L40S: no DCGM_EXP_XID_ERRORS_COUNT")]


def test_who_cannot_be_asked_about_fields_makes_it_unknown() -> None:
    assert find_unknown(judge(STEP, load_case(INPUTS, "error"))) == {"silent-alerts"}
    assert "GpuLost" not in read_silent_alerts("lab-hosts"), "up is a series of Prometheus itself"
    assert read_silent_alerts("none") == "all that read a GPU: Prometheus has no series of one"
