"""Hosts whose GPUs switches join, as HGX H100 (four NVSwitches on the bus) and B200 (none there)."""

from typing import Any

import pytest

from gpustack.rollout.overlay import build_host_facts
from gpustack.steps.gpu.driver import STEP
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.hosts import UBUNTU, build_snapshot, judge
from tests.worlds.snapshots.judge import list_failures

FILES, PACKAGES, DEVICES = "gpu.plugin-files", "gpu.packages", "gpu.devices"
FABRIC = "nvidia-fabricmanager install installed 595.91.07-1\n"


def build_switches(unit: str, count: int = 4) -> dict[tuple[str, str], Any]:
    return place_answers("h1", read_case(FILES, "prepared-debian-12", ("0\nnone", f"{count}\n{unit}")))


def test_a_host_with_switches_gets_the_fabric_manager() -> None:
    failures = list_failures(judge(STEP, build_switches("none"), state="fresh"))
    assert failures["packages-installed"][0].endswith("nvidia-fabricmanager, nvidia-kernel-open-dkms")
    assert failures["fabric-manager"] == ("none", "install")
    facts = build_host_facts(build_snapshot(build_switches("none"), {}), "h1")
    assert facts
    assert "nvidia-fabricmanager=595.91.07-*" in facts["gpu_driver_packages"].split()


def test_up_to_branch_575_its_package_has_the_branch_in_its_name() -> None:
    facts = build_host_facts(
        build_snapshot(build_switches("none"), {"gpu": {"driver": {"version": "570.195.03"}}}), "h1"
    )
    assert facts
    assert "nvidia-fabricmanager-570=570.195.03-*" in facts["gpu_driver_packages"].split()


@pytest.mark.parametrize("unit", ["inactive", "failed"])
def test_a_stopped_fabric_manager_is_for_install(unit: str) -> None:
    held_packages = read_case(PACKAGES, "prepared-debian-12").stdout + FABRIC.replace("install", "hold", 1)
    packages = place_answers("h1", make_answer(PACKAGES, held_packages))
    assert list_failures(judge(STEP, build_switches(unit) | packages)) == {"fabric-manager": (unit, "install")}
    assert list_failures(judge(STEP, build_switches("active") | packages)) == {}


def test_it_is_held_and_of_the_driver_s_version() -> None:
    packages = read_case(PACKAGES, "prepared-debian-12").stdout
    loose = place_answers("h1", make_answer(PACKAGES, packages + FABRIC))
    assert list_failures(judge(STEP, build_switches("active") | loose)) == {
        "packages-held": ("not held: nvidia-fabricmanager", "install")
    }
    other_packages = place_answers("h1", make_answer(PACKAGES, packages + FABRIC.replace("595.91.07", "610.57.04")))
    assert list_failures(judge(STEP, build_switches("active") | other_packages))["version"] == (
        "nvidia-fabricmanager 610.57.04",
        "upgrade",
    )


@pytest.mark.parametrize("device", ["2901", "2941", "3182"])
def test_gpus_of_nvlink_5_are_refused_without_a_fabric_manager(device: str) -> None:
    bus = place_answers("h1", make_answer(DEVICES, f"0000:17:00.0 0x{device}\n0000:1f:00.0 0x{device}\n"))
    ubuntu = {**bus, ("system.os", "h1"): UBUNTU}
    wrong = judge(STEP, ubuntu, {"gpu": {"driver": {"mode": "host"}}}, state="fresh")["fabric"].result
    assert wrong
    assert (wrong.cure, "mode: container" in wrong.hint, "nvlsm" in wrong.hint) == ("operator", True, True)
    debian = judge(STEP, bus)["fabric"].result
    assert debian
    assert "container" not in debian.hint
    assert judge(STEP, bus | build_switches("active", 0))["fabric"].result is None
    assert judge(STEP, ubuntu, {"gpu": {"driver": {"mode": "container"}}})["fabric"].result is None


def test_without_switches_none_is_wanted() -> None:
    facts = build_host_facts(build_snapshot({}, {}), "h1")
    assert facts
    assert "fabricmanager" not in facts["gpu_driver_packages"]
