"""The metrics that a Prometheus has, as a table for people and as a JSON document."""

from typing import Literal

from pydantic import Field
from rich.padding import Padding

from gpustack.config.inventory import Inventory
from gpustack.events import count
from gpustack.gpus.series import Metric, Metrics
from gpustack.metrics.fields import first_sentence
from gpustack.report.document import document, ending
from gpustack.report.gpus.text import UNKNOWN
from gpustack.report.schema import Document, Shape, TextOrNull, optional
from gpustack.report.terminal import Terminal

HEADINGS = ("METRIC", "SERIES", "VALUES", "UNIT")
POWERS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def metrics(console: Terminal, found: Metrics) -> None:
    rows = [(metric.name, str(metric.series), values(metric), unit(metric)) for metric in found.found]
    widths = [max(map(len, column)) for column in zip(HEADINGS, *rows, strict=True)]
    for row, metric in zip((HEADINGS, *rows), (None, *found.found), strict=True):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        console.print(console.clean(line.rstrip()))
        if metric and metric.field:
            console.print(Padding(console.clean(first_sentence(metric.field)), (0, 0, 0, 2)))
    console.print(f"\n{count(len(found.found), 'metric')}; what one means: gpustack explain metric NAME")
    for doubt in found.doubts:
        console.print(console.clean(f"note: {doubt}"))


def unit(metric: Metric) -> str:
    """Of codes, flags and numbers of things the word of the table."""
    plain = metric.field is not None and metric.unit == "count"
    return metric.field.unit if plain and metric.field else metric.unit or UNKNOWN


def values(metric: Metric) -> str:
    least, most = metric.least, metric.most
    if least is None or most is None:
        return UNKNOWN
    return short(least) if least == most else f"{short(least)} to {short(most)}"


def short(value: float) -> str:
    """`1.98 G`; three digits that count."""
    for size, letter in POWERS:
        if abs(value) >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g}"


class MetricRow(Shape):
    """`id` is that of DCGM's field. `least` and `most` are the newest values of all series, in `unit`; null where the
    unit is not proven, or a value is blank."""

    name: str
    series: int
    id: str | None = optional("field", "id")
    unit: TextOrNull
    kind: str | None = optional("field", "kind")
    meaning: str | None = optional("field", "meaning")
    least: float | None
    most: float | None


class MetricsDocument(Document):
    """Result of `gpustack gpu metrics`. `doubts` are sentences: what was left out, and why."""

    kind: Literal["gpustack/gpu-metrics/v1"] = Field("gpustack/gpu-metrics/v1", alias="schema")
    metrics: list[MetricRow]
    doubts: list[str]


def text(found: Metrics, *, inventory: Inventory | None = None) -> str:
    return document(MetricsDocument, {"metrics": found.found, "doubts": found.doubts, "exit": ending(0)}, inventory)
