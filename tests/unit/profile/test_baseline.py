"""Idle GPUs give a baseline, which is taken for these GPUs only."""

import pytest

from gpustack.errors import MissingDataError, UsageError
from gpustack.metrics.gpus import Gpu
from gpustack.profile.analysis import analyze
from gpustack.profile.baseline import list_refusals, require_idle
from gpustack.profile.file import Profile, build_profile
from gpustack.profile.window import GpuWindow, Job
from tests.worlds.prometheus.windows import COMPUTE, build_window

IDLE_LEVELS = dict.fromkeys(COMPUTE, 0.001)
H100 = Gpu("gpu1", "0", "GPU-0", model="NVIDIA H100 80GB HBM3")


def make_profile(*windows: GpuWindow) -> Profile:
    return build_profile(Job(windows), "gpu1", "", 0, 1)


def test_power_is_compared_with_idle() -> None:
    idle = make_profile(build_window(IDLE_LEVELS | {"power": 70.0}, gpu=H100))
    analysis = analyze(make_profile(build_window(COMPUTE | {"power": 600.0}, gpu=H100)), baseline=idle)
    (idle_window,) = analysis.idle
    assert idle_window.name == "power"
    assert [idle_window.idle, idle_window.value] == pytest.approx([70, 600], rel=0.01)


def test_the_gpu_s_own_baseline_counts_before_that_of_its_model() -> None:
    other_gpu = Gpu("gpu1", "1", "GPU-1", model=H100.model)
    idle = make_profile(
        build_window(IDLE_LEVELS | {"power": 70.0}, gpu=H100),
        build_window(IDLE_LEVELS | {"power": 110.0}, gpu=other_gpu),
    )
    own_analysis = analyze(make_profile(build_window(COMPUTE | {"power": 600.0}, gpu=other_gpu)), baseline=idle).idle[0]
    assert own_analysis.idle == pytest.approx(110, rel=0.01)
    foreign_gpu = Gpu("gpu2", "0", "GPU-9", model=H100.model)
    model = analyze(make_profile(build_window(COMPUTE | {"power": 600.0}, gpu=foreign_gpu)), baseline=idle).idle[0]
    assert model.idle == pytest.approx(90, rel=0.01)


def test_another_model_is_refused() -> None:
    other_gpu = Gpu("gpu1", "0", "GPU-1", model="NVIDIA L40S")
    with pytest.raises(UsageError) as excinfo:
        analyze(
            make_profile(build_window(COMPUTE, gpu=other_gpu)),
            baseline=make_profile(build_window(IDLE_LEVELS, gpu=H100)),
        )
    assert excinfo.value.reference == "profile-baseline"


def test_slow_idle_gpus_are_noted() -> None:
    idle = make_profile(build_window(IDLE_LEVELS, gpu=H100, throttle_shares={"sw_thermal": 0.4}))
    assert "also when idle" in analyze(make_profile(build_window(COMPUTE, gpu=H100)), baseline=idle).verdict.notes[-1]


@pytest.mark.parametrize(("levels", "samples", "line"), [(COMPUTE, 90, "engine"), (IDLE_LEVELS, 5, "There are 5")])
def test_busy_or_short_profiles_are_no_baseline(levels: dict[str, float], samples: int, line: str) -> None:
    with pytest.raises(MissingDataError) as excinfo:
        require_idle(Job((build_window(levels, samples),)))
    assert line in excinfo.value.reason


def test_five_minutes_of_nothing_are_one() -> None:
    job = Job((build_window(IDLE_LEVELS, 20),))
    require_idle(job)
    assert list_refusals(job) == []
