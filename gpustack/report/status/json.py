"""The status of a cluster for programs."""

from typing import Literal

from pydantic import Field

from gpustack.report.document import render_result
from gpustack.report.renderings import STATUS
from gpustack.report.schema import Document, Seconds, Shape, TextOrNull, Time, take
from gpustack.rollout.status import Status


class HostStatusShape(Shape):
    """Describe a host. A value is null where it is unknown or does not apply; `node_name` is empty for a host that is
    no node, and `not_ready_reason` is null unless the node is not Ready."""

    name: str
    unreachable: bool | None
    node_name: str | None = take("node")
    ready: bool | None
    not_ready_reason: TextOrNull = take("unready")
    kubelet_version: str | None = take("kubelet")
    driver_version: TextOrNull = take("driver")
    detected_gpu_count: int | None = take("gpus")
    allocatable_gpu_count: int | None = take("allocatable")


class LastRunShape(Shape):
    """Describe the last run of this machine, whatever its inventory was."""

    command: str = take("verb")
    started_at: Time = take("time")
    evidence_directory: TextOrNull = take("directory")


class StatusDocument(Document):
    """Describe the result of `gpustack status`. `firing_alerts` is null where it is unknown or there is no
    monitoring."""

    kind: Literal["gpustack/status/v1"] = Field("gpustack/status/v1", alias="schema")
    started_at: Time
    seconds: Seconds
    kubernetes_version: str | None
    hosts: list[HostStatusShape]
    firing_alerts: list[str] | None
    unknown_reasons: list[str]
    last_run: LastRunShape | None


def render_json(status: Status) -> str:
    return render_result(
        STATUS,
        StatusDocument,
        status,
        status.snapshot.inventory,
        started_at=status.snapshot.started_at,
        seconds=status.snapshot.seconds,
        kubernetes_version=status.kubernetes,
    )
