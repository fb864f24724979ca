"""A word names a load, and the load has a value from which on it is enough."""

import pytest

from gpustack.burn.loads import choose_load, list_loads
from gpustack.burn.output import Output
from gpustack.errors import UsageError


@pytest.mark.parametrize(
    ("word", "id"),
    [
        ("sm-active", "1002"), ("SM_ACTIVE", "1002"), ("1002", "1002"), ("DCGM_FI_PROF_SM_UTIL_RATIO", "1002"),
        ("tensor-active", "1004"), ("pipe-tensor-active", "1004"), ("tensor-util-ratio", "1004"),
        ("dram_active", "1005"), ("fp64-active", "1006"), ("gr-engine-active", "1001"), ("sm-occupancy", "1003"),
    ],
)  # fmt: skip
def test_any_spelling_of_a_load_is_found(word: str, id: str) -> None:
    assert choose_load(word).field.id == id


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("active", "sm-active"),
        ("gpu-temp", "sm-active"),
        ("", "sm-active"),
        ("1009", "PCIe"),
        ("nvlink-tx-bytes", "NVL"),
    ],
)
def test_no_load_or_several_are_refused(word: str, reason: str) -> None:
    with pytest.raises(UsageError) as excinfo:
        choose_load(word)
    assert excinfo.value.reference == "gpu-no-load"
    assert reason in excinfo.value.reason


def test_a_load_becomes_options_of_dcgmproftester() -> None:
    assert choose_load("1004").build_options(60) == ("-t", "1004", "-d", "60", "-r", "1", "--no-dcgm-validation")
    assert choose_load("1002").build_options(3600)[5:] == ("10", "--no-dcgm-validation", "--target-max-value")


@pytest.mark.parametrize(
    ("id", "capability", "floor"),
    [
        ("1002", (9, 0), 0.9), ("1003", None, 0.9), ("1006", (9, 0), 0.5), ("1008", (7, 0), 0.5),
        ("1004", (7, 0), 0.45), ("1004", (8, 0), 0.45), ("1004", (8, 9), 0.36), ("1004", (9, 0), 0.36),
        ("1004", (7, 5), 0.18), ("1004", (8, 6), 0.18), ("1007", (8, 6), 0.36), ("1007", (8, 0), 0.45),
    ],
)  # fmt: skip
def test_limits_are_those_of_dcgm(id: str, capability: tuple[int, int] | None, floor: float) -> None:
    """DCGM 4.6.0, dcgmproftester/PhysicalGpu.cpp."""
    assert choose_load(id).compute_floor(Output(capability=capability)) == pytest.approx((floor, floor))


def test_without_the_generation_a_limit_is_a_range() -> None:
    assert choose_load("1004").compute_floor(Output()) == pytest.approx((0.18, 0.45))


def test_memory_is_compared_with_what_was_moved() -> None:
    dram = choose_load("1005")
    assert dram.compute_floor(Output(bandwidth_share=0.8, divisor=1.125)) == pytest.approx((0.81, 0.81))
    assert dram.compute_floor(Output()) is None
    assert {load.figure for load in list_loads()} == {"", "gflops", "GiB/sec"}
