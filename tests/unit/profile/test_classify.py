import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpustack.metrics.gpus import Gpu
from gpustack.profile.classes import CLASSES
from gpustack.profile.classify import classify
from gpustack.profile.limits import Limits
from gpustack.profile.phases import count_phases, cut_warm_up, find_change_points
from gpustack.profile.window import NEEDED_QUANTITIES, GpuWindow, Job
from tests.worlds.prometheus.windows import CLOCKS, COMPUTE, DECODE, build_window
from tests.worlds.prometheus.workloads import MECHANISMS, PCIE, make_job

PCIE_WAYS = ("pcie_receive", "pcie_transmit")


def test_memory_is_asked_before_how_many_sms_are_resident() -> None:
    verdict = classify(Job((build_window(DECODE),)))
    assert (verdict.id, verdict.confidence) == ("memory-bound", "high")
    assert verdict.reasons[0] == "memory 82 % of 90 % (91 %), above 70 %"
    assert dict(verdict.ruled_out)["tensor-bound"] == "tensor cores 6 % of 93 % (6 %), not above 50 %"


@pytest.mark.parametrize("name", NEEDED_QUANTITIES)
def test_without_a_needed_field_there_is_no_verdict(name: str) -> None:
    levels = {key: value for key, value in DECODE.items() if key != name}
    verdict = classify(Job((build_window(levels),)))
    assert (verdict.id, verdict.confidence) == ("insufficient-data", "none")
    assert name in verdict.reasons[0]


def test_gaps_and_a_change_of_hands_give_no_verdict() -> None:
    verdict = classify(Job((build_window(DECODE, gaps=0.3, pods=("a/x", "a/y")),)))
    assert verdict.id == "insufficient-data"
    assert [reason[:10] for reason in verdict.reasons] == ["30 % of th", "GPUs chang"]


@pytest.mark.parametrize(("samples", "sure"), [(9, "none"), (12, "low"), (40, "medium"), (60, "high")])
def test_more_samples_make_surer(samples: int, sure: str) -> None:
    assert classify(Job((build_window(DECODE, samples),))).confidence == sure


def test_several_phases_make_less_sure() -> None:
    assert classify(Job((build_window(DECODE),)), phases=2).confidence == "low"


def test_idle_is_sure_after_half_an_hour() -> None:
    idle_levels = dict.fromkeys(DECODE, 0.001) | {"power": 70.0, "power_limit": 700.0} | dict.fromkeys(PCIE_WAYS, 1e8)
    pause, idle = (classify(Job((build_window(idle_levels, samples, pcie_peak=PCIE),))) for samples in (90, 130))
    assert (pause.id, pause.confidence) == ("idle", "medium")
    assert dict(pause.alternatives).keys() == {"pause"}
    assert pause.notes == ("Only 1350 s were measured: it may be a pause.",)
    assert (idle.id, idle.confidence, idle.notes) == ("idle", "high", ())


def test_a_gpu_that_only_copies_is_not_idle() -> None:
    """Copy engines are no compute engine."""
    idle_levels = dict.fromkeys(DECODE, 0.001) | dict(zip(PCIE_WAYS, (0.9 * PCIE, 1e8), strict=True))
    assert classify(Job((build_window(idle_levels, 130, pcie_peak=PCIE),))).id == "pcie-bound"


def test_kernels_that_do_not_fill_the_gpu_are_not_a_wait_for_input() -> None:
    levels = DECODE | {"engine": 0.3, "sm": 0.05, "tensor": 0.0, "dram": 0.02, "pcie_receive": 1e8}
    assert classify(Job((build_window(levels, pcie_peak=PCIE),))).id == "launch-bound"
    verdict = classify(Job((build_window(levels | {"sm": 0.2}, pcie_peak=PCIE),)))
    assert (verdict.id, verdict.confidence) == ("input-bound", "low")
    assert verdict.objections == ("SMs while the engine works 67 %, below 75 %",)


def test_a_gpu_alone_is_not_held_up_by_others() -> None:
    """NVLink is in no list of dcgm-exporter's own."""
    levels = {"engine": 0.98, "sm": 0.94, "tensor": 0.0, "dram": 0.01, "fp32": 0.02, "occupancy": 0.03, **CLOCKS}
    assert classify(Job((build_window(levels),))).confidence == "high"
    pair = classify(Job((build_window(levels), build_window(levels))))
    assert pair.confidence == "medium"
    assert dict(pair.alternatives).keys() == {"communication-bound"}


def test_what_is_loaded_and_does_nothing_is_noted() -> None:
    gpu_window = build_window(dict.fromkeys(DECODE, 0.001) | {"memory_used": 4e10}, 130, memory_total=8e10)
    note = "Memory is in use, 37.3 of 74.5 GiB: something is loaded and gets no work."
    assert classify(Job((gpu_window,))).notes == (note,)


def test_a_link_without_a_known_peak_rules_nothing_in() -> None:
    levels = {"engine": 0.2, "sm": 0.1, "tensor": 0.02, "dram": 0.1, "pcie_receive": 0.8 * PCIE, "pcie_transmit": 1e8}
    assert classify(Job((build_window(levels, pcie_peak=PCIE),))).id == "pcie-bound"
    unknown = classify(Job((build_window(levels),)))
    assert "pcie-bound" not in dict(unknown.ruled_out)
    assert dict(unknown.alternatives)["pcie-bound"].startswith("PCIe not measured: DCGM_FI_PROF_PCIE_*_BYTES, ")


def test_one_direction_of_a_link_is_not_the_link() -> None:
    """The direction that an exporter does not send may be the busier one."""
    levels = {"engine": 0.2, "sm": 0.1, "tensor": 0.02, "dram": 0.1, "pcie_receive": 0.02 * PCIE}
    gpu_window = build_window(levels, pcie_peak=PCIE)
    assert gpu_window.compute_link_share("pcie", PCIE) is None
    verdict = classify(Job((gpu_window,)))
    assert "pcie-bound" not in dict(verdict.ruled_out)
    assert "pcie" not in verdict.signals.means
    complete_verdict = classify(Job((build_window(levels | {"pcie_transmit": 1e8}, pcie_peak=PCIE),)))
    assert "pcie-bound" in dict(complete_verdict.ruled_out)


def test_thresholds_are_settings() -> None:
    assert classify(Job((build_window(DECODE),)), Limits(dram=0.95)).id != "memory-bound"


def test_a_warm_up_is_cut_off() -> None:
    engine = [0.01] * 12 + [0.97] * 100
    gpu_window = cut_warm_up(GpuWindow(Gpu("gpu1", "0", "GPU-0"), 112.0, 1.0, dict.fromkeys(NEEDED_QUANTITIES, engine)))
    assert (gpu_window.samples, gpu_window.seconds) == (100, 100.0)
    assert count_phases(gpu_window) == 1


@pytest.mark.parametrize(
    ("track", "points"), [([0.1] * 50 + [0.9] * 50, [50]), ([0.5, 0.52] * 50, []), ([0.0, 1.0] * 50, [])]
)
def test_stretches_are_found_and_a_sawtooth_is_none(track: list[float], points: list[int]) -> None:
    assert find_change_points(track) == points


@given(st.sampled_from(sorted(MECHANISMS)), st.integers(0, 10_000))
def test_a_verdict_always_has_its_numbers(name: str, seed: int) -> None:
    job = make_job(name, random.Random(seed))
    verdict = classify(job)
    assert verdict.signals.samples
    assert bool(verdict.advice) is (verdict.confidence != "low")
    assert len({id for id, _ in verdict.ruled_out}) == len(verdict.ruled_out) <= len(CLASSES)


def test_a_paused_profiler_gives_no_verdict() -> None:
    """Energy and power go on."""
    levels = build_window(DECODE | {"power": 500.0}).tracks
    paused_tracks = {name: track if name == "power" else track[:3] for name, track in levels.items()}
    assert classify(Job((build_window(DECODE, tracks=paused_tracks),))).id == "insufficient-data"


def test_what_was_not_measured_is_not_ruled_out() -> None:
    """PCIe may be full: its generation and lanes are in no list of dcgm-exporter's own."""
    levels = {"engine": 0.5, "sm": 0.3, "tensor": 0.02, "dram": 0.1, "pcie_receive": 5e10}
    verdict = classify(Job((build_window(levels),)))
    assert (verdict.id, verdict.confidence) == ("input-bound", "low")
    assert "pcie-bound" in dict(verdict.alternatives)


def test_gpus_of_several_pods_are_no_one_job() -> None:
    both_windows = (build_window(DECODE, pods=("a/x",)), build_window(DECODE, pods=()))
    verdict = classify(Job(both_windows))
    assert verdict.id == "insufficient-data"
    assert verdict.reasons[0].endswith("or free: choose those of one.")


def test_idle_gpus_with_something_loaded_are_not_imbalanced() -> None:
    idle_levels = dict.fromkeys(DECODE, 0.001)
    job = Job(
        (
            build_window(idle_levels | {"power": 113.0}, 130),
            build_window(idle_levels | {"power": 67.0}, 130),
            build_window(idle_levels | {"power": 67.0}, 130),
        )
    )
    assert classify(job).id == "idle"


def test_a_missing_reason_of_a_slow_clock_is_not_a_share_of_zero() -> None:
    """Fields of throttling are not in dcgm-exporter's own list."""
    slow = COMPUTE | {"clock": 0.9e9}
    without_reasons = classify(Job((build_window(slow),)))
    assert without_reasons.signals.heat_slowdown is without_reasons.signals.hardware_slowdown is None
    assert "throttled" in dict(without_reasons.alternatives)
    reasons = dict.fromkeys(("hw_thermal", "power_brake", "sw_thermal", "power_cap"), 0.0)
    with_reasons = classify(Job((build_window(slow, throttle_shares=reasons),)))
    assert dict(with_reasons.ruled_out)["throttled"] == "time slowed by hardware 0 %, not above 1 %"
    assert (without_reasons.confidence, with_reasons.confidence) == ("medium", "high")


def test_a_value_at_its_threshold_is_too_close_to_tell() -> None:
    levels = COMPUTE | {"sm": 0.6001}
    verdict = classify(Job((build_window(levels),)))
    assert verdict.confidence == "low"
    assert verdict.reasons[1].endswith(", above 60.0 %, too close to tell")
