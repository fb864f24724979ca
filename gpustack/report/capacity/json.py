"""GPU-hours as one JSON document, and as CSV. Within a version fields are only ever added."""

from typing import Literal

from pydantic import Field

from gpustack.capacity.state import Capacity
from gpustack.capacity.usage import sum_hours
from gpustack.config.inventory import Inventory
from gpustack.report.csv_text import write_csv
from gpustack.report.document import render_result
from gpustack.report.format import build_cleaner
from gpustack.report.renderings import CAPACITY
from gpustack.report.schema import Document, Hours, NumbersShape, Seconds, Shape, TextOrNull, Time, TimeOrNull, take
from gpustack.vocabulary.basis import Basis

COLUMNS = ("total", "allocated", "attributed", "active", "idle", "unmeasured", "free", "unoffered")


class HoursShape(Shape, NumbersShape):
    """Describe GPU-hours. Allocated, free and unoffered hours add up to the total. Attributed, active and idle hours
    are measured, and parts of the allocated ones."""

    total_gpu_hours: Hours = take("total")
    allocated_gpu_hours: Hours = take("allocated")
    attributed_gpu_hours: Hours = take("attributed")
    active_gpu_hours: Hours = take("active")
    idle_gpu_hours: Hours = take("idle")
    unmeasured_gpu_hours: Hours = take("unmeasured")
    free_gpu_hours: Hours = take("free")
    unoffered_gpu_hours: Hours = take("unoffered")
    basis: dict[str, Basis]


class RowShape(Shape):
    """Describe the hours of one value of each dimension."""

    names: list[str]
    hours: HoursShape


class GapShape(Shape):
    """Describe a time of which nothing was recorded, without its end."""

    begin: Time
    end: Time


class QueueShape(Shape, NumbersShape):
    """Describe the pods of a namespace that waited for GPUs. `scheduled_pod_count` and `waited_seconds` are known by
    namespace alone (`team` is null)."""

    namespace: str
    team: TextOrNull
    waited_unit_hours: Hours = take("waited_units")
    scheduled_pod_count: float = take("scheduled_pods")
    waited_seconds: Seconds
    basis: dict[str, Basis]


class WaitingShape(Shape, NumbersShape):
    """Describe a pod without a node."""

    namespace: str
    pod: str
    resource: str
    units: float
    waiting_since: TimeOrNull
    unschedulable: bool
    basis: dict[str, Basis]


class FreeShape(Shape, NumbersShape):
    """Describe units of a node that no pod has, and the reasons."""

    node: str
    resource: str
    units: float
    usable: bool
    reasons: list[str]
    basis: dict[str, Basis]


class IdleShape(Shape, NumbersShape):
    """Describe a pod that has GPUs and has not used them for an hour or longer."""

    namespace: str
    pod: str
    team: TextOrNull
    controller: TextOrNull = take("owner")
    node_names: list[str] = take("nodes")
    gpu_count: int = take("gpus")
    idle_since: Time
    at_least: bool
    basis: dict[str, Basis]


class CurrentStateShape(Shape):
    """Describe the pods and nodes at one time."""

    measured_at: TimeOrNull = take("time")
    waiting_pods: list[WaitingShape] = take("waiting")
    free_units: list[FreeShape] = take("free")
    idle_pods: list[IdleShape] = take("idle")


class UsageDocument(Document):
    """Describe the hours of a report and where they come from."""

    begin: Time = take("usage", "begin")
    end: Time = take("usage", "end")
    window_hours: int = take("usage", "window_hours")
    recorded_hours: Hours = take("usage", "recorded_hours")
    bridged_hours: Hours = take("usage", "bridged_hours")
    source: str = take("usage", "source")


class CapacityDocument(UsageDocument):
    """Describe the result of `gpustack capacity report` from `begin` to `end`. Of `window_hours`,
    `recorded_hours` are known; they include `bridged_hours`."""

    kind: Literal["gpustack/capacity/v1"] = Field("gpustack/capacity/v1", alias="schema")
    dimensions: list[str]
    rows: list[RowShape]
    total: HoursShape
    gaps: list[GapShape] = take("usage", "gaps")
    queue: list[QueueShape] = take("usage", "queue")
    current_state: CurrentStateShape
    warnings: list[str] = take("usage", "doubts")


def render_json(capacity: Capacity, *, inventory: Inventory | None = None) -> str:
    return render_result(CAPACITY, CapacityDocument, capacity, inventory, total=sum_hours(capacity.rows))


def render_csv(capacity: Capacity, *, inventory: Inventory | None = None) -> str:
    """Render a line for each row, with the names of the JSON document and hours to a thousandth."""
    heading = [*capacity.dimensions, *(f"{name}_gpu_hours" for name in COLUMNS)]
    rows = ([*row.names, *(f"{getattr(row.hours, name):.3f}" for name in COLUMNS)] for row in capacity.rows)
    return write_csv(heading, rows, build_cleaner(inventory))
