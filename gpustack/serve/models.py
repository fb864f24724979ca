"""What is answered, as the OpenAPI document has it. A field is only ever added within a version of the paths.

Docstrings are the descriptions there.
"""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from gpustack.ask.redact.printable import plain
from gpustack.metrics.fields import find_fields
from gpustack.serve.measures import MEASURES

Name = Annotated[str, BeforeValidator(plain)]
NameOrNull = Annotated[str | None, BeforeValidator(lambda text: plain(text) if text else None)]
Doubts = Annotated[list[Name], Field(description="sentences: what was left out, and why")]


class Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class Value(Model):
    """A value in its unit, when it was measured, by the clock of Prometheus, and how long ago that was. `value`, `time`
    and `age_seconds` are null together where there is none, and `reason` says why; else that is null."""

    value: float | None
    unit: str
    time: datetime | None
    age_seconds: float | None
    reason: NameOrNull


def described(name: str) -> Any:
    measure = MEASURES[name]
    return Field(description=f"{find_fields(measure.field)[0].meaning} Of a pod: the {measure.over} of its GPUs.")


class Values(Model):
    """Of a pod, a value is there where all of its GPUs have it, and is as old as the oldest of them."""

    engine: Value = described("engine")
    sm: Value = described("sm")
    tensor: Value = described("tensor")
    dram: Value = described("dram")
    memory_used: Value = described("memory_used")
    memory_total: Value = described("memory_total")
    power: Value = described("power")
    power_limit: Value = described("power_limit")
    temperature: Value = described("temperature")


class Doubted(Model):
    doubts: Doubts


class Measured(Model):
    """One value alone. It is never null: where there is none, the answer is 404 with the reason."""

    value: float
    unit: str
    time: datetime
    age_seconds: float
    doubts: Doubts


class PodName(Model):
    """The pod that the kubelet gave the GPU to, which is not yet that it is used."""

    namespace: Name
    name: Name
    container: NameOrNull


class GpuName(Model):
    """A GPU, or an instance of one in MIG mode (`instance`, `profile`). What the exporter does not say is null."""

    node: Name
    index: NameOrNull
    uuid: NameOrNull
    instance: NameOrNull
    profile: NameOrNull
    model: NameOrNull


class Gpu(Values, GpuName):
    """What a GPU does. `pods` share it; none of a free one, and where the exporter does not ask the kubelet."""

    pods: list[PodName]


class PodGpus(Model):
    namespace: Name
    name: Name
    pods: list[Name]
    gpus: list[GpuName]


class Pod(Values, PodGpus):
    """What the GPUs of a pod do; of all pods whose name begins so, where `name` ends with a star."""


class GpuAnswer(Doubted, Gpu):
    """A GPU."""


class PodAnswer(Doubted, Pod):
    """A pod."""


class GpuList(Model):
    """By node and index; MIG instances after their GPU."""

    gpus: list[Gpu]
    doubts: Doubts


class PodList(Model):
    """By namespace and name."""

    pods: list[Pod]
    doubts: Doubts


class Health(Model):
    """The process answers. Whether Prometheus does is told by all other paths."""

    status: Literal["ok"]


class Problem(Model):
    """Why there is no value (RFC 9457). `detail` is for people, `reference` for programs; `gpustack explain REFERENCE`
    has its page."""

    type: Literal["about:blank"]
    title: str
    status: int
    detail: str
    reference: str
