"""Hours of GPUs as one JSON document, and as CSV. A field is only ever added within a version."""

from typing import Literal

from pydantic import Field

from gpustack.capacity.state import Capacity
from gpustack.capacity.usage import total
from gpustack.config.inventory import Inventory
from gpustack.report.codes import REPORTED, capacity_code
from gpustack.report.csv_text import write_csv
from gpustack.report.document import document, ending
from gpustack.report.format import cleaner
from gpustack.report.schema import Document, Shape, TextOrNull, take

COLUMNS = ("total", "allocated", "attributed", "active", "idle", "unmeasured", "free", "unoffered")


class HoursShape(Shape):
    """GPU-hours. `allocated`, `free` and `unoffered` add up to `total`. `attributed`, `active`, `idle` are measured
    and of `allocated`; of what is `unmeasured`, no exporter said anything. `active` is the time in which the engine
    was busy, `idle` the time in which it was busy for less than 5 %."""

    total: float
    allocated: float
    attributed: float
    active: float
    idle: float
    unmeasured: float
    free: float
    unoffered: float


class RowShape(Shape):
    """Of one value of each dimension in `by`, in its order; an empty one is not known, or of what no pod has."""

    names: list[str]
    hours: HoursShape


class GapShape(Shape):
    """Hours of which nothing was recorded: seconds since 1970, the end not part of it."""

    begin: int
    end: int


class QueueShape(Shape):
    """Units (GPUs, MIG instances, shares) times the hours that pods waited for them; pods that got a node, and how
    long these waited together, by namespace alone (`team` is null)."""

    namespace: str
    team: TextOrNull
    waited_unit_hours: float = take("waited_units")
    scheduled_pods: float = take("scheduled")
    waited_seconds: float = take("waited")


class WaitingShape(Shape):
    """A pod without a node; `since` it was created, null where that is not known. `unschedulable`: the scheduler found
    no node for it."""

    namespace: str
    pod: str
    resource: str
    units: float
    since: float | None
    unschedulable: bool


class FreeShape(Shape):
    """Units of a node that no pod has, and why; `usable` is false where no pod that waits could take them."""

    node: str
    resource: str
    units: float
    usable: bool
    reasons: list[str]


class IdleShape(Shape):
    """A pod that has GPUs and did nothing with them for an hour or longer; `owner` is its controller. With `at_least`
    it may be longer than `since`."""

    namespace: str
    pod: str
    team: TextOrNull
    owner: TextOrNull
    nodes: list[str]
    gpus: int
    since: float
    at_least: bool


class NowShape(Shape):
    """What is so at `at`. Times are in seconds since 1970."""

    at: float
    waiting: list[WaitingShape]
    free: list[FreeShape]
    idle: list[IdleShape]


class CapacityDocument(Document):
    """Result of `gpustack capacity report`: from `begin` to `end`, in seconds since 1970. `recorded` of the `asked`
    hours are known; `bridged` hours of gaps are in it, each shorter than half an hour. `source` says which series were
    read. `doubts` are sentences."""

    kind: Literal["gpustack/capacity/v1"] = Field("gpustack/capacity/v1", alias="schema")
    begin: int
    end: int
    asked: int
    recorded: float
    bridged: float
    source: str
    by: list[str]
    rows: list[RowShape]
    total: HoursShape
    gaps: list[GapShape]
    queue: list[QueueShape]
    now: NowShape
    doubts: list[str]


def text(found: Capacity, *, inventory: Inventory | None = None) -> str:
    values = {**vars(found.usage), "by": found.by, "rows": found.rows, "total": total(found.rows), "now": found.now}
    return document(CapacityDocument, values | {"exit": ending(capacity_code(found), REPORTED)}, inventory)


def table(found: Capacity, *, inventory: Inventory | None = None) -> str:
    """A line for each row, with the names of the JSON document; hours to a thousandth."""
    heading = [*found.by, *(f"{name}_gpu_hours" for name in COLUMNS)]
    rows = ([*row.names, *(f"{getattr(row.hours, name):.3f}" for name in COLUMNS)] for row in found.rows)
    return write_csv(heading, rows, cleaner(inventory))
