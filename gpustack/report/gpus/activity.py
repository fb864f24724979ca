"""What GPUs do now, as a table for people and as a JSON document."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from pydantic import Field
from rich.console import Group, RenderableType

from gpustack.gpus.activity import Activity, PodWork, Work
from gpustack.metrics.fields import find_fields
from gpustack.report.document import document, ending
from gpustack.report.gpus.json import Owner
from gpustack.report.gpus.text import GIB, UNKNOWN, VENDOR, index_of, used_by
from gpustack.report.schema import Document, Shape, TextOrNull, take
from gpustack.report.table import draw
from gpustack.report.terminal import Terminal

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory

GPU_HEADINGS = ("NODE", "GPU", "POD", "SM", "TENSOR", "DRAM", "MEMORY", "POWER", "TEMP", "SLOWED BY")
POD_HEADINGS = ("POD", "GPUS", "SM", "TENSOR", "DRAM", "MEMORY", "POWER")


def activity(console: Terminal, found: Activity, *, pods: bool = False) -> None:
    console.print(drawing(console, found, pods=pods))


def drawing(console: Terminal, found: Activity, *, pods: bool) -> RenderableType:
    """The table, and below it what no GPU of a model says."""
    rows = map(pod_cells, found.pods) if pods else map(gpu_cells, found.work)
    return Group(draw(console, POD_HEADINGS if pods else GPU_HEADINGS, rows), *map(console.clean, notes(found)))


def gpu_cells(one: Work) -> tuple[str, ...]:
    """Where the SMs are not measured, the engine stands in for them, with a mark."""
    sm = f"{share(one.engine)}*" if one.sm is None and one.engine is not None else share(one.sm)
    return (
        one.gpu.node,
        index_of(one.gpu),
        used_by(one.owners) or "free",
        sm,
        share(one.tensor),
        share(one.dram),
        part(one.memory, one.memory_total, GIB, "GiB"),
        part(one.power, one.power_limit, 1, "W"),
        UNKNOWN if one.temperature is None else f"{one.temperature:.0f} C",
        UNKNOWN if one.slowed is None else ", ".join(one.slowed) or "nothing",
    )


def pod_cells(one: PodWork) -> tuple[str, ...]:
    return (
        one.owner.path,
        f"{one.gpus} shared" if one.shared else str(one.gpus),
        share(one.sm),
        share(one.tensor),
        share(one.dram),
        part(one.memory, None, GIB, "GiB"),
        part(one.power, None, 1, "W"),
    )


def share(value: float | None) -> str:
    return UNKNOWN if value is None else f"{min(value, 1) * 100:.0f}%"


def part(value: float | None, whole: float | None, unit: int, name: str) -> str:
    if value is None:
        return UNKNOWN
    return f"{value / unit:.0f} {name}" if whole is None else f"{value / unit:.0f}/{whole / unit:.0f} {name}"


def notes(found: Activity) -> Iterable[str]:
    if any(one.sm is None and one.engine is not None for one in found.work):
        yield "* the graphics or compute engine: the SMs are not measured"
    for model, names in found.lacking.items():
        (first, *_) = (field for name in names for field in find_fields(name))
        yield f"note: {model.removeprefix(VENDOR)} gives no {', '.join(names)}. Absent on: {first.absent}"
    for doubt in found.doubts:
        yield f"note: {doubt}"


class Activities(Shape):
    """A GPU, or an instance of one in MIG mode. Shares are 0 to 1; what its exporter does not say is null. `owners` are
    all pods that share it, of which `owner` is the first. `slowed_by` is empty for a GPU that nothing slows down.
    `last_sample` is in seconds since 1970."""

    node: str = take("gpu", "node")
    index: TextOrNull = take("gpu", "index")
    uuid: TextOrNull = take("gpu", "uuid")
    instance: TextOrNull = take("gpu", "instance")
    model: TextOrNull = take("gpu", "model")
    owner: Owner | None
    owners: list[Owner]
    engine: float | None
    sm: float | None
    tensor: float | None
    dram: float | None
    memory_used_bytes: float | None = take("memory")
    memory_bytes: float | None = take("memory_total")
    power_watts: float | None = take("power")
    power_limit_watts: float | None = take("power_limit")
    temperature_celsius: float | None = take("temperature")
    slowed_by: list[str] | None = take("slowed")
    last_sample: float = take("at")


class PodActivities(Shape):
    """A pod: how many GPUs it has, the mean of their shares, the sum of their memory and power; null where one of its
    GPUs does not say. `shared` of its GPUs are other pods' as well, and count whole for each."""

    namespace: str = take("owner", "namespace")
    pod: str = take("owner", "pod")
    gpus: int
    shared: int
    engine: float | None
    sm: float | None
    tensor: float | None
    dram: float | None
    memory_used_bytes: float | None = take("memory")
    power_watts: float | None = take("power")


class ActivityDocument(Document):
    """Result of `gpustack gpu top`. `lacking` are fields that no GPU of a model has, by model; `doubts` are sentences:
    what was left out, and why."""

    kind: Literal["gpustack/gpu-activity/v1"] = Field("gpustack/gpu-activity/v1", alias="schema")
    gpus: list[Activities] = take("work")
    pods: list[PodActivities]
    lacking: dict[str, list[str]]
    doubts: list[str]


def text(found: Activity, *, inventory: "Inventory | None" = None) -> str:
    return document(ActivityDocument, {**vars(found), "exit": ending(0)}, inventory)
