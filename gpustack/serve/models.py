"""Models of the answers, as the OpenAPI document has them. Within a version of the paths fields are only ever added.

The docstrings are the descriptions in the document.
"""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from gpustack.gpus.identity import GpuIdentity, Name, NameOrNull, Owner
from gpustack.serve.measures import MEASURES
from gpustack.vocabulary.fields import find_fields

Warnings = list[Name]


class Model(BaseModel):
    model_config = ConfigDict(frozen=True)


class Value(Model):
    """Describe a value in its unit, the time of its measurement by the clock of Prometheus, and its age. `value`,
    `measured_at` and `age_seconds` are null together where there is none, and `reason` says why; else `reason` is
    null."""

    value: float | None
    unit: str | None
    measured_at: datetime | None
    age_seconds: float | None
    reason: NameOrNull


def build_field(name: str) -> Any:
    measure = MEASURES[name]
    return Field(
        description=f"{find_fields(measure.field)[0].meaning} A pod has the {measure.aggregation} of its GPUs."
    )


class Values(Model):
    """Describe the values of GPUs. A pod has a value where all of its GPUs have it, as old as the oldest of them."""

    engine: Value = build_field("engine")
    sm: Value = build_field("sm")
    tensor: Value = build_field("tensor")
    dram: Value = build_field("dram")
    memory_used: Value = build_field("memory_used")
    memory_total: Value = build_field("memory_total")
    power: Value = build_field("power")
    power_limit: Value = build_field("power_limit")
    temperature: Value = build_field("temperature")


class WarningList(Model):
    warnings: Warnings


class Measurement(Model):
    """Describe one value alone. It is never null: a missing value is answered with 404 and the reason."""

    value: float
    unit: str | None
    measured_at: datetime | None
    age_seconds: float
    warnings: Warnings


class Gpu(Values, GpuIdentity):
    """Describe the activity of a GPU. It has no owners where it is free, and where the exporter does not ask the
    kubelet."""

    owners: list[Owner]


class PodGpus(Model):
    namespace: Name
    pod: Name
    pod_names: list[Name]
    gpus: list[GpuIdentity]


class Pod(Values, PodGpus):
    """Describe the activity of the GPUs of a pod, or of all pods whose name begins so, where `pod` ends with a
    star."""


class GpuAnswer(WarningList, Gpu):
    """Describe a GPU, with warnings."""


class PodAnswer(WarningList, Pod):
    """Describe a pod, with warnings."""


class GpuList(Model):
    """List GPUs by node and index, with MIG instances after their GPU."""

    gpus: list[Gpu]
    warnings: Warnings


class PodList(Model):
    """List pods by namespace and name."""

    pods: list[Pod]
    warnings: Warnings


class Health(Model):
    """Say that the process answers. All other paths tell whether Prometheus does."""

    outcome: Literal["ok"]


class Problem(Model):
    """Explain why there is no value (RFC 9457). `detail` is for people, `reference` for programs; `gpustack explain
    REFERENCE` has its page."""

    type: Literal["about:blank"]
    title: str
    status: int
    detail: str
    reference: str | None
