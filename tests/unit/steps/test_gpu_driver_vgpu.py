"""A vGPU guest is refused before anything waits for it, and adapters for RDMA get a line."""

from typing import Any

import pytest

from gpustack.rollout.warnings import list_warnings
from gpustack.steps.gpu.driver import STEP
from tests.worlds.snapshots.answers import place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.hosts import UBUNTU, build_snapshot, judge
from tests.worlds.snapshots.judge import list_failures

GUEST: Answers = {("system.os", "h1"): UBUNTU, **place_answers("h1", read_case("gpu.devices", "vgpu"))}
REFUSAL = ("vGPUs of a hypervisor: 0000:00:05.0", "operator")


@pytest.mark.parametrize("driver", [{}, {"mode": "container"}, {"mode": "host"}])
def test_a_vgpu_guest_is_refused_before_anything_waits(driver: dict[str, Any]) -> None:
    assert list_failures(judge(STEP, GUEST, {"gpu": {"driver": driver}}, state="fresh"))["vgpu-guest"] == REFUSAL


def test_a_guest_driver_of_the_owner_is_left_alone() -> None:
    own_driver = place_answers("h1", read_case("gpu.driver", "installed-by-others"))
    assert "vgpu-guest" not in list_failures(judge(STEP, {**GUEST, **own_driver}))


def test_adapters_for_rdma_are_a_warning() -> None:
    adapters = place_answers("h1", read_case("network.rdma-adapters", "both"))
    sentences = [sentence for sentence in list_warnings(build_snapshot(adapters, {})) if "RDMA" in sentence]
    (sentence,) = sentences
    assert sentence.startswith(
        "h1: 2 InfiniBand adapters and 1 RoCE adapter: GPUDirect RDMA and GDRCopy are not set up"
    )
    assert "NCCL takes TCP" in sentence
