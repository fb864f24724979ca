"""The identity of a GPU in documents."""

from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from gpustack.gpus.identity import GpuIdentity
from gpustack.metrics.gpus import Gpu

INSTANCE = Gpu("gpu1", "0", "GPU-1", "7", "1g.10gb", "NVIDIA H100", "00000000:65:00.0")


@pytest.mark.parametrize("result", [SimpleNamespace(gpu=INSTANCE), INSTANCE])
def test_identity_is_read_from_a_gpu_and_from_a_result_with_one(result: object) -> None:
    identity = GpuIdentity.model_validate(result)
    assert identity.model_dump() == {name: getattr(INSTANCE, name) for name in GpuIdentity.model_fields}


def test_unknown_values_are_null() -> None:
    identity = GpuIdentity.model_validate(SimpleNamespace(node="gpu1", uuid="", model="NVIDIA H100", bus=""))
    assert [name for name, value in identity.model_dump().items() if value is None] == [
        "index",
        "uuid",
        "instance",
        "profile",
        "bus",
    ]


def test_a_gpu_without_a_node_is_refused() -> None:
    with pytest.raises(ValidationError):
        GpuIdentity.model_validate(SimpleNamespace(uuid="GPU-1"))
