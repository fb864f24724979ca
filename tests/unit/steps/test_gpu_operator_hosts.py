"""The step gpu-operator on hosts that do not give it all of their GPUs."""

from gpustack.steps.gpu_operator import STEP
from tests.unit.steps.recorded_cluster import K1, K2
from tests.unit.steps.recorded_gpus import broken, on


def test_fewer_gpus_than_the_inventory_says() -> None:
    found = broken(STEP, hosts=(on(K1, gpustack_gpus=3), K2))
    assert found["said-by-the-inventory"] == ("k1: 2 of 3", "operator")
