"""The current activity of GPUs, as a table for people and as a JSON document."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from pydantic import Field
from rich.console import Group, RenderableType

from gpustack.gpus.activity import Activity, GpuActivity, PodActivity
from gpustack.gpus.identity import GpuIdentity, Owner
from gpustack.report.basis import list_legend, mark_number
from gpustack.report.document import render_result
from gpustack.report.gpus.text import GIB, UNKNOWN, VENDOR, format_index, format_user, list_unknown_users
from gpustack.report.renderings import ACTIVITY
from gpustack.report.schema import Document, NumbersShape, Shape, TimeOrNull, take
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal
from gpustack.vocabulary.basis import Basis
from gpustack.vocabulary.fields import find_fields

if TYPE_CHECKING:
    from gpustack.config.inventory import Inventory

GPU_HEADINGS = ("NODE", "GPU", "POD", "SM", "TENSOR", "DRAM", "MEMORY", "POWER", "TEMP", "SLOWED BY")
# What stands for the activity of SMs where it is not measured, with its mark and what it means.
STAND_INS = {
    "engine": ("*", "the graphics or compute engine: the SMs are not measured"),
    "utilisation": ("**", "utilisation, the time with any kernel: no profiling field is measured"),
}
POD_HEADINGS = ("POD", "GPUS", "SM", "UTIL", "TENSOR", "DRAM", "MEMORY", "POWER")


def render_human(console: Terminal, activity: Activity, *, pods: bool = False) -> None:
    console.print(draw_activity(console, activity, pods=pods))


def draw_activity(console: Terminal, activity: Activity, *, pods: bool) -> RenderableType:
    """Draw the table, and notes below it on fields that no GPU of a model has."""
    rows = [*map(format_pod_cells, activity.pods)] if pods else [*map(format_gpu_cells, activity.gpus)]
    headings = POD_HEADINGS if pods else GPU_HEADINGS
    notes = (*list_legend(headings, rows), *list_notes(activity))
    return Group(draw_table(console, headings, rows), *map(console.clean, notes))


def format_gpu_cells(gpu_activity: GpuActivity) -> tuple[str, ...]:
    return (
        gpu_activity.gpu.node,
        format_index(gpu_activity.gpu),
        format_user(gpu_activity),
        format_activity(gpu_activity),
        format_share(gpu_activity, "tensor"),
        format_share(gpu_activity, "dram"),
        format_amount(gpu_activity, ("memory", "memory_total"), GIB, "GiB"),
        format_amount(gpu_activity, ("power", "power_limit"), 1, "W"),
        format_amount(gpu_activity, ("temperature",), 1, "C"),
        UNKNOWN if gpu_activity.throttle_reasons is None else ", ".join(gpu_activity.throttle_reasons) or "nothing",
    )


def format_pod_cells(pod_activity: PodActivity) -> tuple[str, ...]:
    return (
        pod_activity.owner.path,
        f"{pod_activity.gpus} shared" if pod_activity.shared_gpus else str(pod_activity.gpus),
        format_activity(pod_activity),
        format_share(pod_activity, "utilisation"),
        format_share(pod_activity, "tensor"),
        format_share(pod_activity, "dram"),
        format_amount(pod_activity, ("memory",), GIB, "GiB"),
        format_amount(pod_activity, ("power",), 1, "W"),
    )


def find_stand_in(entry: GpuActivity | PodActivity) -> str | None:
    """Find the value that stands for SMs that are not measured."""
    return next((name for name in STAND_INS if entry.sm is None and getattr(entry, name) is not None), None)


def format_activity(entry: GpuActivity | PodActivity) -> str:
    """Format the activity of SMs, or what stands for it, with its mark."""
    name = find_stand_in(entry)
    return format_share(entry, name or "sm", STAND_INS[name][0] if name else "")


def format_share(entry: GpuActivity | PodActivity, name: str, note: str = "") -> str:
    share = getattr(entry, name)
    return UNKNOWN if share is None else mark_number(f"{min(share, 1) * 100:.0f} %{note}", entry.basis.get(name))


def format_amount(entry: GpuActivity | PodActivity, names: tuple[str, ...], unit: int, label: str) -> str:
    """Format an amount, and what it is a part of where that is known: `59/80 GiB`."""
    figures = {name: getattr(entry, name) for name in names}
    if figures[names[0]] is None:
        return UNKNOWN
    texts = (
        mark_number(f"{figure / unit:.0f}", entry.basis.get(name))
        for name, figure in figures.items()
        if figure is not None
    )
    return f"{'/'.join(texts)} {label}"


def list_notes(activity: Activity) -> Iterable[str]:
    for name in dict.fromkeys(filter(None, (*map(find_stand_in, activity.gpus), *map(find_stand_in, activity.pods)))):
        yield " ".join(STAND_INS[name])
    yield from (f"note: {note}" for note in list_unknown_users(activity.gpus))
    for model, names in activity.lacking.items():
        (first, *_) = (field for name in names for field in find_fields(name))
        yield f"note: {model.removeprefix(VENDOR)} gives no {', '.join(names)}. Absent on: {first.absent}"
    for doubt in activity.doubts:
        yield f"note: {doubt}"


class GpuActivityShape(GpuIdentity, NumbersShape):
    """Describe the activity of a GPU, or of an instance of one in MIG mode. What its exporter does not send is null."""

    owners: list[Owner]
    engine_ratio: float | None = take("engine")
    sm_ratio: float | None = take("sm")
    tensor_ratio: float | None = take("tensor")
    dram_ratio: float | None = take("dram")
    memory_used_bytes: float | None = take("memory")
    memory_total_bytes: float | None = take("memory_total")
    power_watts: float | None = take("power")
    power_limit_watts: float | None = take("power_limit")
    temperature_celsius: float | None = take("temperature")
    throttle_reasons: list[str] | None
    measured_at: TimeOrNull = take("time")
    in_use: bool | None
    utilisation_ratio: float | None = take("utilisation")
    basis: dict[str, Basis]


class PodActivityShape(Shape, NumbersShape):
    """Describe the activity of a pod: the means of the ratios of its GPUs, the sums of their memory and power. A value
    is null where one of its GPUs has none, and power where other pods have MIG instances of the same board."""

    namespace: str = take("owner", "namespace")
    pod: str = take("owner", "pod")
    gpu_count: int = take("gpus")
    shared_gpu_count: int = take("shared_gpus")
    engine_ratio: float | None = take("engine")
    sm_ratio: float | None = take("sm")
    tensor_ratio: float | None = take("tensor")
    dram_ratio: float | None = take("dram")
    memory_used_bytes: float | None = take("memory")
    power_watts: float | None = take("power")
    utilisation_ratio: float | None = take("utilisation")
    basis: dict[str, Basis]


class ActivityDocument(Document):
    """Describe the result of `gpustack gpu top`."""

    kind: Literal["gpustack/gpu-activity/v1"] = Field("gpustack/gpu-activity/v1", alias="schema")
    gpus: list[GpuActivityShape]
    pods: list[PodActivityShape]
    missing_fields: dict[str, list[str]] = take("lacking")
    warnings: list[str] = take("doubts")


def render_json(activity: Activity, *, inventory: "Inventory | None" = None) -> str:
    return render_result(ACTIVITY, ActivityDocument, activity, inventory)
