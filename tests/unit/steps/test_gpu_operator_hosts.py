"""The step gpu-operator on hosts that do not give it all of their GPUs."""

from dataclasses import replace
from typing import Any

from gpustack.steps.gpu.operator import STEP
from tests.worlds.snapshots.answers import make_answer, place_answers, read_case
from tests.worlds.snapshots.build import Answers
from tests.worlds.snapshots.cluster import K1, K2
from tests.worlds.snapshots.gpus import build_devices, edit_answer, judge, set_gpus
from tests.worlds.snapshots.judge import find_unknown, list_failures

NODES = "gpu.nodes"


def test_gpus_of_virtual_machines_exclude_driver_containers() -> None:
    """NVIDIA's driver manager would take them from the machines."""
    machines = place_answers("k1", read_case("gpu.devices", "two-of-four-for-virtual-machines"))
    ubuntu = make_answer("system.os", 'x86_64\nID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n')
    bare = {(probe, "k1"): read_case(probe, "fresh-debian-12") for probe in ("gpu.packages", "gpu.driver")}
    fresh: Answers = {("system.os", "k1"): ubuntu, **bare}
    assert "virtual-machines" not in list_failures(judge(STEP, machines)), "the host's own driver lets them be"
    assert "virtual-machines" not in list_failures(judge(STEP, fresh))
    failure = list_failures(judge(STEP, {**fresh, **machines}))["virtual-machines"]
    assert failure == ("k1: 2 of 4 GPUs, and a driver container", "operator")
    mismatch = judge(STEP, {**fresh, **machines})["virtual-machines"].result
    assert mismatch
    assert "gpu.driver.mode: host" in mismatch.hint
    assert "virtual-machines" in find_unknown(
        judge(STEP, {**machines, ("system.os", "k1"): replace(ubuntu, missing_reason="no answer")})
    )


def test_the_operator_is_kept_from_a_node_whose_gpus_are_somebody_else_s() -> None:
    hosts = (set_gpus(K1, gpustack_gpus=0), K2)
    assert list_failures(judge(STEP, hosts=hosts))["left-alone"] == (
        "k1: no label nvidia.com/gpu.deploy.operands=false",
        "operator",
    )

    def label_node(items: list[Any]) -> None:
        items[0]["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] = "false"

    assert "left-alone" not in list_failures(judge(STEP, edit_answer(NODES, label_node), hosts=hosts))
    assert "left-alone" not in list_failures(judge(STEP, build_devices("k1"), hosts=hosts)), (
        "nothing there to be left alone"
    )


def test_fewer_gpus_than_the_inventory_says_are_reported() -> None:
    failures = list_failures(judge(STEP, hosts=(set_gpus(K1, gpustack_gpus=3), K2)))
    assert failures["gpus-on-bus"] == ("k1: 2 of 3", "operator")


def test_a_node_that_a_label_keeps_the_operands_from_is_for_a_person() -> None:
    def label_node(items: list[Any]) -> None:
        items[0]["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] = "false"

    answers = edit_answer(NODES, label_node)
    text = "k1: excluded from the operator by label nvidia.com/gpu.deploy.operands=false"
    assert list_failures(judge(STEP, answers)) == {"operands": (text, "operator")}
    mismatch = judge(STEP, answers)["operands"].result
    assert mismatch
    assert mismatch.hint.startswith("kubectl label node k1 nvidia.com/gpu.deploy.operands-")
    assert list_failures(judge(STEP, {**build_devices("k1"), **build_devices("k2"), **answers})) == {}
