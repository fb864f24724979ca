"""GPUs by the ids that the PCI ID database has for them."""

from dataclasses import replace
from typing import Any

import pytest

from gpustack.steps.gpu.driver import STEP
from tests.worlds.snapshots.answers import make_answer
from tests.worlds.snapshots.hosts import H1, H2, UBUNTU, judge

T4, A100, H100, V100, P40, GT710, B200, RTX5090 = "1eb8", "20b2", "2330", "1db6", "1b38", "128b", "2901", "2b85"
OLD: dict[str, Any] = {"version": "580.95.05", "kernel_module": "proprietary"}


def judge_generation(*devices: str, gpus: int | None = None, **driver: Any) -> str:
    """Return what is found of the driver, with the hint; empty where it drives the GPUs."""
    bus = "".join(f"0000:{index:02x}:00.0 0x{device}\n" for index, device in enumerate(devices, 0x17))
    answers = {("gpu.devices", "h1"): make_answer("gpu.devices", bus), ("system.os", "h1"): UBUNTU}
    spec = H1.spec.model_copy(update={"gpustack_gpus": gpus})
    hosts = (replace(H1, spec=spec), H2)
    result = judge(STEP, answers, {"gpu": {"driver": {"mode": "container", **driver}}}, hosts=hosts)[
        "generation"
    ].result
    assert not result or result.cure == "operator"
    return f"{result.actual} {result.hint}" if result else ""


@pytest.mark.parametrize("devices", [(V100,), (P40, P40), (GT710,), (V100, A100)])
@pytest.mark.parametrize("driver", [{}, {"kernel_module": "proprietary"}, {"version": "580.95.05"}])
def test_gpus_that_no_such_driver_drives_are_refused(devices: tuple[str, ...], driver: dict[str, Any]) -> None:
    words = judge_generation(*devices, **driver)
    assert f"0000:17:00.0 10de:{devices[0]}" in words
    assert "version: 580.…, kernel_module: proprietary" in words


@pytest.mark.parametrize("devices", [(V100,), (P40, T4), (H100,)])
def test_the_last_branch_for_them_drives_them(devices: tuple[str, ...]) -> None:
    assert judge_generation(*devices, **OLD) == ""


@pytest.mark.parametrize("devices", [(T4,), (A100, H100), (B200,), (RTX5090,)])
def test_the_open_module_drives_all_since_turing(devices: tuple[str, ...]) -> None:
    assert judge_generation(*devices) == ""


@pytest.mark.parametrize("device", [B200, RTX5090])
def test_blackwell_has_no_other_module(device: str) -> None:
    assert "kernel_module: open" in judge_generation(device, kernel_module="proprietary")


def test_an_old_card_for_a_display_stands_beside_them() -> None:
    assert "gpustack_gpus: 2 in the inventory" in judge_generation(A100, A100, GT710)
    assert judge_generation(A100, A100, GT710, gpus=2) == ""
    assert judge_generation(A100, GT710, gpus=2)


def test_a_driver_of_somebody_else_is_their_matter() -> None:
    assert judge_generation(V100, mode="none") == ""


def test_from_branch_615_on_there_is_no_proprietary_module() -> None:
    assert "kernel_module: open" in judge_generation(H100, version="615.31", kernel_module="proprietary")
    assert judge_generation(H100, version="610.57.04", kernel_module="proprietary") == ""
    assert judge_generation(H100, version="615.31") == ""
