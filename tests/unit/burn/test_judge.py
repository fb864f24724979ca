"""A GPU passes when all is known and enough."""

from dataclasses import replace

import pytest

from gpustack.burn.judge import WRONG_TESTER, BurnedGpu, judge_gpus
from gpustack.burn.loads import choose_load
from gpustack.burn.watch import GpuObservation
from gpustack.metrics.gpus import Gpu
from gpustack.proof.workload import PodResult, VisibleGpu
from tests.worlds.results import burns
from tests.worlds.results.burns import GOOD, TENSOR, UUIDS, build_pod_result, make_observation


def judge_loaded_gpu(
    loaded_pod: PodResult, observation: GpuObservation | None, stop_reason: str = "", *, blind: bool = False
) -> BurnedGpu:
    (gpu,) = judge_gpus(TENSOR, [loaded_pod], {UUIDS[0]: observation} if observation else {}, stop_reason, blind=blind)
    return gpu


def test_a_good_gpu_passes() -> None:
    gpu = judge_loaded_gpu(build_pod_result(0), make_observation(0.91, 4, "power cap"))
    assert (gpu.outcome, gpu.reasons, gpu.actual, gpu.figure) == ("passed", (), 0.91, 610500.0)
    assert gpu.expected == pytest.approx(0.36)


@pytest.mark.parametrize(
    ("loaded_pod", "observation", "outcome", "reason"),
    [
        (build_pod_result(0), make_observation(0.30), "failed", "PIPE_TENSOR_ACTIVE is too low"),
        (build_pod_result(0), make_observation(0.30, 2), "unknown", "by 2 samples only"),
        (build_pod_result(0), make_observation(None, 0), "unknown", "Prometheus has no PIPE_TENSOR_ACTIVE"),
        (build_pod_result(0), None, "unknown", "Prometheus has no PIPE_TENSOR_ACTIVE"),
        (
            build_pod_result(0),
            replace(make_observation(), throttle_reasons=None),
            "unknown",
            "slowed down is not known",
        ),
        (build_pod_result(0), make_observation(0.91, 4, "power brake"), "failed", "slowed down by power brake"),
        (build_pod_result(0), make_observation(0.91, 4, hot="93 °C"), "failed", "too hot: 93 °C"),
        (
            build_pod_result(0, burns.render_tensor("0.00") + burns.end(1004)),
            make_observation(),
            "failed",
            "put no load on it",
        ),
        (
            build_pod_result(0, burns.end(1004, passed=False), 255),
            make_observation(),
            "failed",
            "TestField 1004 testing FAILED.",
        ),
        (build_pod_result(0, burns.end(1004)), make_observation(), "unknown", "says nothing of its load"),
        (build_pod_result(0, burns.SKIPPED_TEST), make_observation(), "unknown", "has not been implemented yet"),
        (
            build_pod_result(0, burns.WRONG, WRONG_TESTER),
            make_observation(),
            "unknown",
            "for the CUDA version of the driver",
        ),
        (build_pod_result(0, GOOD, 1), make_observation(), "unknown", "ended with 1"),
        (build_pod_result(0, "", 1), make_observation(), "unknown", "it printed nothing"),
        (build_pod_result(0, "", None), make_observation(), "unknown", "stopped: heat of another"),
        (build_pod_result(0, "", None, "DeadlineExceeded"), make_observation(), "unknown", "DeadlineExceeded"),
        (PodResult("burn-1", "gpu1", "stuck", "Unschedulable"), None, "unknown", "Unschedulable"),
    ],
)
def test_a_gpu_below_its_limits_fails(
    loaded_pod: PodResult, observation: GpuObservation | None, outcome: str, reason: str
) -> None:
    gpu = judge_loaded_gpu(loaded_pod, observation, "heat of another")
    assert gpu.outcome == outcome
    assert reason in "; ".join(gpu.reasons)


def test_without_the_generation_what_lies_between_is_unknown() -> None:
    text = burns.render_tensor("6.11e+05") + burns.end(1004)
    pod = build_pod_result(0, text)
    outcomes = [judge_loaded_gpu(pod, make_observation(value)).outcome for value in (0.17, 0.3, 0.46)]
    assert outcomes == ["failed", "unknown", "passed"]


def test_unknown_temperatures_are_waived_when_agreed() -> None:
    assert (
        judge_loaded_gpu(
            build_pod_result(0), replace(make_observation(), throttle_reasons=None, temperature=None), blind=True
        ).outcome
        == "passed"
    )
    assert judge_loaded_gpu(build_pod_result(0), None, blind=True).outcome == "unknown", (
        "what it reached is never waived"
    )


def test_peers_are_compared_by_what_they_count() -> None:
    other_result = replace(build_pod_result(2, burns.SLOW), gpus=(VisibleGpu(UUIDS[2], model="NVIDIA L4"),))
    pods = [build_pod_result(0), build_pod_result(1, burns.SLOW), other_result]
    smaller = replace(make_observation(), gpu=Gpu("gpu1", "2", "", model="NVIDIA L4"))
    observations = {uuid: make_observation() for uuid in UUIDS} | {UUIDS[2]: smaller}
    gpus = judge_gpus(TENSOR, pods, observations, "", blind=False)
    assert [burned_gpu.outcome for burned_gpu in gpus] == ["passed", "failed", "passed"]
    assert gpus[1].reasons == ("410500 gflops, and the best of its model 610500",)


def test_memory_reaches_what_was_moved() -> None:
    dram = choose_load("dram-active")
    text = burns.render_memory("0.850", "0.850") + burns.end(1005)
    low, sufficient = (
        judge_gpus(dram, [build_pod_result(0, text)], {UUIDS[0]: make_observation(value)}, "", blind=False)
        for value in (0.7, 0.8)
    )
    assert (low[0].outcome, sufficient[0].outcome) == ("failed", "passed")
