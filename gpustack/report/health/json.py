"""The health of GPUs as one JSON document. Within a version fields are only ever added."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from gpustack.gpus.identity import GpuIdentity, Owner
from gpustack.health.fleet import Health
from gpustack.health.sign import Source, Verdict
from gpustack.report.document import render_result
from gpustack.report.renderings import HEALTH
from gpustack.report.schema import Document, Shape, TextOrNull, TimeOrNull, take

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory


class HealthSign(Shape):
    """Describe what a source says about a GPU."""

    origin: Source = take("source")
    health: Verdict = take("verdict")
    message: TextOrNull
    xid: int | None


class GpuHealth(GpuIdentity):
    """Describe the verdict on a GPU. MIG instances count with their GPU."""

    owners: list[Owner]
    health: Verdict = take("verdict")
    reason: TextOrNull
    signs: list[HealthSign]
    measured_at: TimeOrNull = take("time")


class NodeHealth(Shape):
    """Describe the verdict on a node, which is that of its worst GPU, or of what is known of none of them."""

    node: str
    health: Verdict = take("verdict")
    reasons: list[str]
    gpu_count: int
    cordoned: bool | None


class Incident(Shape):
    """Describe an Xid that several nodes had within five minutes."""

    xid: int
    node_names: list[str] = take("nodes")


class HealthDocument(Document):
    """Describe the result of `gpustack gpu health`."""

    kind: Literal["gpustack/gpu-health/v1"] = Field("gpustack/gpu-health/v1", alias="schema")
    gpus: list[GpuHealth]
    nodes: list[NodeHealth]
    incidents: list[Incident]
    warnings: list[str] = take("doubts")


def render_json(health: Health, *, inventory: "Inventory | None" = None) -> str:
    return render_result(HEALTH, HealthDocument, health, inventory)
