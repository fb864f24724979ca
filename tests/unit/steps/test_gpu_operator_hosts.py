"""The step gpu-operator on hosts that do not give it all of their GPUs."""

from dataclasses import replace
from typing import Any

from gpustack.steps.gpu.operator import STEP
from tests.worlds.cases import answers_at, recorded, written
from tests.worlds.cluster import K1, K2
from tests.worlds.gpus import devices, edited, judged, on
from tests.worlds.judge import failures, unknown
from tests.worlds.snapshot import Answers

NODES = "gpu.nodes"


def test_no_driver_container_beside_gpus_of_virtual_machines() -> None:
    """NVIDIA's driver manager would take them from the machines."""
    machines = answers_at("k1", recorded("gpu.devices", "two-of-four-for-virtual-machines"))
    ubuntu = written("system.os", 'x86_64\nID=ubuntu\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n')
    bare = {(probe, "k1"): recorded(probe, "fresh-debian-12") for probe in ("gpu.packages", "gpu.driver")}
    fresh: Answers = {("system.os", "k1"): ubuntu, **bare}
    assert "virtual-machines" not in failures(judged(STEP, machines)), "the host's own driver lets them be"
    assert "virtual-machines" not in failures(judged(STEP, fresh))
    found = failures(judged(STEP, {**fresh, **machines}))["virtual-machines"]
    assert found == ("k1: 2 of 4 GPUs, and a driver container", "operator")
    mismatch = judged(STEP, {**fresh, **machines})["virtual-machines"].result
    assert mismatch
    assert "gpu.driver.mode: host" in mismatch.hint
    assert "virtual-machines" in unknown(
        judged(STEP, {**machines, ("system.os", "k1"): replace(ubuntu, missing_reason="no answer")})
    )


def test_the_operator_is_kept_from_a_node_whose_gpus_are_somebody_else_s() -> None:
    hosts = (on(K1, gpustack_gpus=0), K2)
    assert failures(judged(STEP, hosts=hosts))["left-alone"] == (
        "k1: no label nvidia.com/gpu.deploy.operands=false",
        "operator",
    )

    def labelled(items: list[Any]) -> None:
        items[0]["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] = "false"

    assert "left-alone" not in failures(judged(STEP, edited(NODES, labelled), hosts=hosts))
    assert "left-alone" not in failures(judged(STEP, devices("k1"), hosts=hosts)), "nothing there to be left alone"


def test_fewer_gpus_than_the_inventory_says() -> None:
    found = failures(judged(STEP, hosts=(on(K1, gpustack_gpus=3), K2)))
    assert found["gpus-on-bus"] == ("k1: 2 of 3", "operator")


def test_a_node_that_a_label_keeps_the_operands_from_is_for_a_person() -> None:
    def opt_out(items: list[Any]) -> None:
        items[0]["metadata"]["labels"]["nvidia.com/gpu.deploy.operands"] = "false"

    answers = edited(NODES, opt_out)
    text = "k1: excluded from the operator by label nvidia.com/gpu.deploy.operands=false"
    assert failures(judged(STEP, answers)) == {"operands": (text, "operator")}
    mismatch = judged(STEP, answers)["operands"].result
    assert mismatch
    assert mismatch.hint.startswith("kubectl label node k1 nvidia.com/gpu.deploy.operands-")
    assert failures(judged(STEP, {**devices("k1"), **devices("k2"), **answers})) == {}
