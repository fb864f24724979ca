"""What GPUs reached under a full load: as text, and as a JSON document."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from gpustack.config.inventory import Inventory
from gpustack.gpus.burn.judge import Burn, BurnedGpu, Outcome
from gpustack.metrics.fields import short
from gpustack.report.codes import BURNED, burn_code
from gpustack.report.document import document, ending
from gpustack.report.format import duration
from gpustack.report.gpus.engines import Unread, list_unread, unread
from gpustack.report.gpus.text import UNKNOWN
from gpustack.report.schema import Document, Folder, Seconds, Shape, Stopped, TextOrNull
from gpustack.report.table import draw
from gpustack.report.terminal import Terminal

SHOWN = len("GPU-01234567")
OUTCOMES: tuple[Outcome, ...] = ("passed", "failed", "unknown")


def burn(console: Terminal, found: Burn, *, evidence: str = "") -> None:
    field = found.load.field
    counted = [found.load.figure.upper()] if found.load.figure else []
    headings = ("NODE", "GPU", "REACHED", "EXPECTED", *counted, "PEAK", "SLOWED BY", "OUTCOME")
    console.print(draw(console, headings, (tuple(cells(one, counts=bool(counted))) for one in found.gpus)))
    for one in found.gpus:
        for why in one.why:
            console.print(console.clean(f"{one.outcome}: {one.node or UNKNOWN} {one.uuid or 'a GPU'}: {why}"))
    for node, why in found.lost.items():
        console.print(console.clean(f"failed: {node}: {why}"))
    unread(console, found.unread)
    counts = ", ".join(f"{number} {outcome}" for outcome in OUTCOMES if (number := found.count(outcome)))
    time = f"{duration(found.duration)} of load, {duration(found.seconds)} in all"
    console.print(console.clean(f"{short(field.name)}: {counts or 'no GPU'} ({time})"))
    if found.stopped:
        console.print(console.clean(f"ended early: {found.stopped}"))
    if found.left:
        console.print(console.clean(f"pods were not removed, and end by themselves: {found.left}"))
    if evidence:
        console.print(console.clean(f"evidence: {evidence}"), soft_wrap=True)


def cells(one: BurnedGpu, *, counts: bool) -> Iterator[str]:
    yield one.node or UNKNOWN
    yield one.uuid[:SHOWN] or UNKNOWN
    yield share(one.reached)
    yield share(one.expected)
    if counts:
        yield f"{one.figure:,.0f}" if one.figure is not None else UNKNOWN
    yield f"{one.temperature:.0f} °C" if one.temperature is not None else UNKNOWN
    yield UNKNOWN if one.slowed is None else ", ".join(one.slowed) or "nothing"
    yield one.outcome


def share(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.2f}"


class BurnedRow(Shape):
    """`reached` is the highest value of the field that Prometheus has of it, of that many `samples`; `expected` the
    least that DCGM's test takes for enough; both are 0 to 1. `figure` is what dcgmproftester counted. What is not known
    is null."""

    node: str
    uuid: str
    model: str
    bus: str
    outcome: Outcome
    why: list[str]
    reached: float | None
    expected: float | None
    samples: int
    figure: float | None
    temperature: Annotated[float | None, Field(description="the highest, in degrees Celsius")]
    slowed: Annotated[list[str] | None, Field(description="what slowed it down; null where that is not known")]


class BurnDocument(Document):
    """Result of `gpustack gpu burn`. `unit` is that of the figures; `lost` are nodes with fewer GPUs afterwards."""

    kind: Literal["gpustack/gpu-burn/v1"] = Field("gpustack/gpu-burn/v1", alias="schema")
    field: Annotated[str, Field(description="DCGM's field, by its name until DCGM 4.5")]
    duration: Annotated[int, Field(description="seconds of load that were asked for")]
    seconds: Seconds
    unit: TextOrNull
    stopped: Stopped
    left: Annotated[TextOrNull, Field(description="why pods of the load are still there, else null")]
    gpus: list[BurnedRow]
    lost: list[Unread]
    unread: list[Unread]
    evidence: Folder


def text(found: Burn, *, inventory: Inventory | None = None, evidence: str = "") -> str:
    values = {
        **vars(found),
        "field": found.load.field.name,
        "unit": found.load.figure,
        "lost": list_unread(found.lost),
        "unread": list_unread(found.unread),
        "evidence": evidence,
        "exit": ending(burn_code(found), BURNED),
    }
    return document(BurnDocument, values, inventory)
