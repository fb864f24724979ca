"""A profile has stretches, what is usual, and thresholds of one's own, besides its class."""

import random

import pytest

from gpustack.errors import UsageError
from gpustack.profile.analysis import analyze
from gpustack.profile.classes import CLASSES
from gpustack.profile.classify import classify
from gpustack.profile.file import build_profile
from gpustack.profile.limits import DEFAULT, set_limits
from gpustack.profile.phases import count_phases, split_stretches
from gpustack.profile.signals import compute_signals
from gpustack.profile.usual import ADVICE, list_workload_notes
from gpustack.profile.window import Job
from tests.worlds.prometheus.windows import COMPUTE, DECODE, build_window
from tests.worlds.prometheus.workloads import MECHANISMS, make_job


def join_windows(*levels: tuple[dict[str, float], int]) -> Job:
    windows = [build_window(values, samples) for values, samples in levels]
    tracks = {name: [value for gpu_window in windows for value in gpu_window.tracks[name]] for name in DECODE}
    return Job((build_window(DECODE, sum(samples for _, samples in levels), tracks=tracks),))


def test_stretches_have_a_class_each() -> None:
    analysis = analyze(build_profile(join_windows((COMPUTE, 60), (DECODE, 120)), "x", "", 0, 1))
    assert [(stretch.verdict.id, round(stretch.seconds)) for stretch in analysis.stretches] == [
        ("tensor-bound", 900),
        ("memory-bound", 1800),
    ]
    assert analysis.stretches[1].begin == pytest.approx(900)
    assert analysis.verdict.confidence == "low"


def test_a_short_stretch_may_be_idle() -> None:
    analysis = analyze(build_profile(join_windows((COMPUTE, 60), (dict.fromkeys(DECODE, 0.001), 60)), "x", "", 0, 1))
    assert [stretch.verdict.id for stretch in analysis.stretches] == ["tensor-bound", "pause"]


def test_one_time_has_no_stretches() -> None:
    assert analyze(build_profile(join_windows((DECODE, 90)), "x", "", 0, 1)).stretches == ()


@pytest.mark.parametrize("name", MECHANISMS)
def test_there_are_as_many_stretches_as_are_counted(name: str) -> None:
    job = make_job(name, random.Random(8))
    parts = split_stretches(job)
    assert len(parts) == max(map(count_phases, job.windows))
    assert sum(part.windows[0].samples for part in parts) == job.windows[0].samples


def test_what_is_usual_is_sorted_by_how_near_it_is() -> None:
    analysis = analyze(build_profile(join_windows((DECODE, 90)), "x", "", 0, 1), workload="inference")
    assert (analysis.usual[0].name, analysis.usual[0].outliers) == ("language model, decode", ())
    assert analysis.usual[1].outliers
    assert "Continuous batching" in analysis.verdict.advice[0]


def test_advice_is_for_classes_that_there_are() -> None:
    assert {id for id, _ in ADVICE} <= {cls.id for cls in CLASSES}


def test_a_threshold_can_be_set() -> None:
    assert set_limits(["dram=0.95"]).dram == 0.95
    assert set_limits([]) == DEFAULT


def test_all_wrong_thresholds_are_named() -> None:
    with pytest.raises(UsageError) as excinfo:
        set_limits(["dram=0.9", "drum=0.9", "tensor=high", "pcie=-1", "sm"])
    assert [line.partition(":")[0] for line in excinfo.value.reason.splitlines()[:-1]] == [
        "drum=0.9",
        "tensor=high",
        "pcie=-1",
        "sm",
    ]


def test_without_profiling_fields_what_is_known_is_noted() -> None:
    gpu_window = build_window({"utilisation": 0.97, "power": 300.0}, throttle_shares={"hw_thermal": 0.2})
    verdict = classify(Job((gpu_window,)))
    assert verdict.id == "insufficient-data"
    assert "97 %" in " ".join(verdict.notes)
    assert "Hardware slows" in " ".join(verdict.notes)


def test_a_power_cap_without_power_is_no_proof_that_power_holds_no_clock_down() -> None:
    """The power of a MIG instance is its board's, and not known of the instance."""
    levels = DECODE | {"clock": 1.0e9}
    shares = {"power_cap": 0.6, "sw_thermal": 0.0, "hw_thermal": 0.0, "power_brake": 0.0}
    notes = " ".join(classify(Job((build_window(levels, throttle_shares=shares),))).notes)
    assert "what holds it down is not measured" in notes
    assert "neither power nor heat" not in notes


def analyze_training(**fields: object) -> list[str]:
    levels = COMPUTE | {"tensor": 0.2, "memory_used": 12e9, "temperature": 62.0} | fields
    window = build_window(levels, memory_total=80e9)  # type: ignore[arg-type]
    analysis = analyze(build_profile(Job((window,)), "x", "", 0, 1), workload="training")
    return [*analysis.verdict.notes, *(name for name, *_ in analysis.usual[0].outliers)]


def test_a_training_with_most_memory_free_may_have_a_small_batch() -> None:
    notes = analyze_training()
    assert "The batch may be too small: memory used is 11.2 of 74.5 GiB." in notes
    assert "memory_used" in notes
    assert not any("batch" in note for note in analyze_training(tensor=0.7))
    assert not any("batch" in note for note in analyze_training(memory_used=60e9))


def test_a_batch_is_not_called_small_where_tensor_cores_were_not_measured() -> None:
    levels = {name: value for name, value in COMPUTE.items() if name != "tensor"} | {"memory_used": 12e9}
    signals = compute_signals(Job((build_window(levels, memory_total=80e9),)), DEFAULT)
    assert list(list_workload_notes("training", signals)) == []


def test_hot_gpus_are_noted() -> None:
    assert "The GPUs are hot: 91 °C, usually below 85 °C." in analyze_training(temperature=91.0)


def test_idle_gpus_are_not_compared_with_what_is_usual() -> None:
    analysis = analyze(
        build_profile(join_windows((dict.fromkeys(DECODE, 0.001), 90)), "x", "", 0, 1), workload="training"
    )
    assert analysis.usual == ()
