"""The values that GPUs reached under a full load, as text and as a JSON document."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from gpustack.burn.judge import Burn, BurnedGpu, Outcome
from gpustack.config.inventory import Inventory
from gpustack.gpus.identity import GpuIdentity
from gpustack.report.document import render_result
from gpustack.report.gpus.engines import UnreadNodes, print_unread_nodes
from gpustack.report.gpus.text import UNKNOWN
from gpustack.report.renderings import BURN
from gpustack.report.schema import Document, Reasons, Seconds, TextOrNull, take
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal
from gpustack.times import format_duration
from gpustack.vocabulary.fields import strip_prefix

UUID_WIDTH = len("GPU-01234567")
OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "unknown")


def render_human(console: Terminal, burn: Burn, *, evidence: str = "") -> None:
    field = burn.load.field
    count_headings = [burn.load.figure.upper()] if burn.load.figure else []
    headings = ("NODE", "GPU", "REACHED", "EXPECTED", *count_headings, "PEAK", "SLOWED BY", "OUTCOME")
    console.print(
        draw_table(
            console,
            headings,
            (tuple(format_cells(burned_gpu, counts=bool(count_headings))) for burned_gpu in burn.gpus),
        )
    )
    for gpu in burn.gpus:
        for reason in gpu.reasons:
            console.print(console.clean(f"{gpu.outcome}: {gpu.node or UNKNOWN} {gpu.uuid or 'a GPU'}: {reason}"))
    for node, reason in burn.lost_gpus.items():
        console.print(console.clean(f"failed: {node}: {reason}"))
    print_unread_nodes(console, burn.unread)
    counts = ", ".join(f"{number} {outcome}" for outcome in OUTCOMES if (number := burn.count(outcome)))
    time = f"{format_duration(burn.duration)} of load, {format_duration(burn.seconds)} in all"
    console.print(console.clean(f"{strip_prefix(field.name)}: {counts or 'no GPU'} ({time})"))
    if burn.stop_reason:
        console.print(console.clean(f"ended early: {burn.stop_reason}"))
    if burn.cleanup_error:
        console.print(console.clean(f"pods were not removed, and end by themselves: {burn.cleanup_error}"))
    if evidence:
        console.print(console.clean(f"evidence: {evidence}"), soft_wrap=True)


def format_cells(burned_gpu: BurnedGpu, *, counts: bool) -> Iterator[str]:
    yield burned_gpu.node or UNKNOWN
    yield burned_gpu.uuid[:UUID_WIDTH] or UNKNOWN
    yield format_share(burned_gpu.actual)
    yield format_share(burned_gpu.expected)
    if counts:
        yield f"{burned_gpu.figure:,.0f}" if burned_gpu.figure is not None else UNKNOWN
    yield f"{burned_gpu.temperature:.0f} °C" if burned_gpu.temperature is not None else UNKNOWN
    yield UNKNOWN if burned_gpu.throttle_reasons is None else ", ".join(burned_gpu.throttle_reasons) or "nothing"
    yield burned_gpu.outcome


def format_share(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


class BurnedRow(GpuIdentity):
    """Describe the result of a GPU. Unknown values are null."""

    outcome: Outcome
    reasons: list[str]
    actual_ratio: float | None = take("actual")
    expected_ratio: float | None = take("expected")
    sample_count: int = take("samples")
    load_value: float | None = take("figure")
    temperature_celsius: float | None = take("temperature")
    throttle_reasons: list[str] | None


class BurnDocument(Document):
    """Describe the result of `gpustack gpu burn`. `unit` is that of `load_value`; `remaining` says why pods of the
    load are still there."""

    kind: Literal["gpustack/gpu-burn/v1"] = Field("gpustack/gpu-burn/v1", alias="schema")
    field: str = take("load", "field", "name")
    load_seconds: Seconds = take("duration")
    seconds: Seconds
    unit: TextOrNull = take("load", "figure")
    stop_reason: TextOrNull
    remaining: Reasons = take("cleanup_error")
    gpus: list[BurnedRow]
    lost_gpus: UnreadNodes
    unreachable_nodes: UnreadNodes = take("unread")
    evidence_directory: TextOrNull


def render_json(burn: Burn, *, inventory: Inventory | None = None, evidence: str = "") -> str:
    return render_result(BURN, BurnDocument, burn, inventory, evidence_directory=evidence)
