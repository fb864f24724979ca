"""Comparisons: what moved, what the noise hides, and when there is no winner."""

import random
import time
from dataclasses import replace

import pytest

from gpustack.errors import UsageError
from gpustack.metrics.gpus import Gpu
from gpustack.profile.compare import Change, Comparison, compare_profiles
from gpustack.profile.file import Profile, build_profile, read_profile
from gpustack.profile.gate import evaluate_gate, parse_gates
from gpustack.profile.limits import Limits
from gpustack.profile.phases import cut_window
from gpustack.profile.window import GpuWindow, Job
from tests.contract.sources import ROOT
from tests.worlds.prometheus.windows import COMPUTE, build_window
from tests.worlds.prometheus.workloads import MECHANISMS, make_job


def make_profile(*windows: GpuWindow, label: str = "") -> Profile:
    return build_profile(Job(windows), "x", label, 0, 1)


def run(seed: int, **levels: float) -> Profile:
    return make_profile(build_window(COMPUTE | levels, seed=seed))


def evaluate_outcome(comparison: Comparison, words: str) -> str:
    return evaluate_gate(comparison, parse_gates([words])[0]).outcome


def test_equals_are_equal() -> None:
    comparison = compare_profiles(run(1), run(2))
    assert (comparison.outcome, comparison.work) == ("same", "tensor")
    assert [change.name for change in comparison.changes if change.moved] == []


def test_less_work_is_found_and_named() -> None:
    comparison = compare_profiles(run(1), run(2, tensor=0.6))
    assert comparison.outcome == "less"
    assert [change.name for change in comparison.changes if change.moved] == ["tensor"]
    change = comparison.find_change("tensor")
    assert change
    assert change.share == pytest.approx(-1 / 7, abs=0.01)


def test_a_change_of_a_percent_is_none_unless_it_is_asked_for() -> None:
    assert compare_profiles(run(1), run(2, tensor=0.69)).outcome == "same"
    assert compare_profiles(run(1), run(2, tensor=0.69), Limits(least_change=0.005)).outcome == "less"


def test_a_rise_from_zero_that_no_reader_sees_is_no_change() -> None:
    """The second of two recordings of an H100 has FP16 active for 26 millionths of the time, the first never."""
    before, after = (read_profile(ROOT / f"examples/profiles/{name}.json") for name in ("before", "after"))
    comparison = compare_profiles(before, after)
    change = comparison.find_change("fp16")
    assert change
    assert (change.before, change.after > 0, change.moved) == (0.0, True, False)


def test_on_another_machine_there_is_no_winner() -> None:
    gpu_window = build_window(COMPUTE, gpu=Gpu("gpu1", "0", "GPU-0", driver="580.95"), settings={"ecc": 1.0})
    other_window = build_window(
        COMPUTE | {"tensor": 0.5}, gpu=Gpu("gpu1", "0", "GPU-0", driver="595.91"), settings={"ecc": 1.0}
    )
    comparison = compare_profiles(make_profile(gpu_window), make_profile(other_window))
    assert (comparison.outcome, comparison.refusals) == ("another-machine", ("driver: 580.95, then 595.91",))
    assert evaluate_outcome(comparison, "tensor<-5%") == "unknown"


@pytest.mark.parametrize("setting", ["ecc", "mig", "pcie_lanes", "pcie_generation"])
def test_settings_are_of_the_machine(setting: str) -> None:
    pair = [make_profile(build_window(COMPUTE, settings={setting: value})) for value in (0.0, 1.0)]
    assert compare_profiles(pair[0], pair[1]).outcome == "another-machine"


def test_what_is_not_known_of_the_machine_is_noted() -> None:
    comparison = compare_profiles(run(1), run(2))
    assert "driver" in comparison.notes[0]
    assert "ECC" in comparison.notes[0]


def test_too_few_samples_have_no_winner() -> None:
    comparison = compare_profiles(make_profile(build_window(COMPUTE, 9), label="run1"), run(2))
    assert (comparison.outcome, comparison.changes) == ("insufficient-data", ())
    assert comparison.refusals[0].startswith("run1: There are 9 distinct samples")


def test_idle_runs_did_no_work() -> None:
    idle_levels = dict.fromkeys(COMPUTE, 0.001)
    comparison = compare_profiles(
        make_profile(build_window(idle_levels, 130)), make_profile(build_window(idle_levels, 130, seed=3))
    )
    assert (comparison.outcome, comparison.work) == ("insufficient-data", "")


def test_a_gate_fails_beyond_its_share_only() -> None:
    comparison = compare_profiles(run(1), run(2, tensor=0.6))
    assert evaluate_outcome(comparison, "tensor<-5%") == "failed"
    assert evaluate_outcome(comparison, "tensor < -20 %") == "passed"
    assert evaluate_outcome(comparison, "tensor>5%") == "passed"
    assert evaluate_outcome(comparison, "fp64<-5%") == "unknown"


def test_a_rise_far_beyond_its_noise_passes_a_gate_on_losses() -> None:
    """The noise of a rise from almost nothing is large as a share of it."""
    change = Change("tensor", 0.006, 0.53, 0.03, moved=True)
    comparison = replace(compare_profiles(run(1), run(2)), changes=(change,))
    assert evaluate_outcome(comparison, "tensor<-5%") == "passed"
    assert evaluate_outcome(comparison, "tensor>5%") == "failed"


def test_what_the_noise_hides_is_no_pass() -> None:
    rng = random.Random(1)
    noisy = []
    for _ in range(2):
        tracks = dict(build_window(COMPUTE).tracks)
        noisy.append(
            make_profile(build_window(COMPUTE, tracks=tracks | {"tensor": [rng.uniform(0, 1) for _ in range(90)]}))
        )
    assert evaluate_outcome(compare_profiles(noisy[0], noisy[1]), "tensor<-5%") == "unknown"


def test_all_gates_that_are_none_are_named() -> None:
    with pytest.raises(UsageError) as excinfo:
        parse_gates(["tensor<-5%", "tenser<-5%", "tensor<5", "tensor"])
    assert excinfo.value.message == "These expressions cannot be read: tenser<-5%, tensor<5, tensor"


@pytest.mark.parametrize("name", ["compute", "memory bandwidth", "loader wait"])
def test_two_times_of_the_same_work_are_seldom_different(name: str) -> None:
    """Cut from one run: nothing about them differs but when they were."""
    wrong = times = 0
    for seed in range(20):
        job = make_job(name, random.Random(seed))
        if min(window.samples for window in job.windows) < 45:
            continue
        halves = [
            make_profile(*(cut_window(gpu_window, begin, begin + 0.5) for gpu_window in job.windows))
            for begin in (0.0, 0.5)
        ]
        times += 1
        wrong += compare_profiles(halves[0], halves[1]).outcome in ("more", "less")
    assert times > 5
    assert wrong <= times * 0.15


def test_hours_of_eight_gpus_are_compared_in_seconds() -> None:
    """Four hours at 1 s. The aim is 2 s on an idle core; here are many."""
    tracks = build_window(COMPUTE | {"power": 600.0, "fp32": 0.1, "pcie_receive": 1e9, "clock": 1.9e9}, 4 * 3600).tracks
    job = Job(tuple(GpuWindow(Gpu("gpu1", str(n), f"GPU-{n}"), 14400.0, 1.0, tracks) for n in range(8)))
    profile = build_profile(job, "x", "", 0, 1)
    start = time.process_time()
    assert compare_profiles(profile, profile).outcome == "same"
    assert time.process_time() - start < 6


def test_every_mechanism_can_be_compared() -> None:
    for name in MECHANISMS:
        pair = [build_profile(make_job(name, random.Random(seed)), name, "", 0, 1) for seed in (1, 2)]
        assert compare_profiles(pair[0], pair[1]).machine
