"""The GPU metrics that a Prometheus has, as a table for people and as a JSON document."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gpustack.config.inventory import Inventory
from gpustack.events import format_count
from gpustack.gpus.series import Metric, Metrics
from gpustack.report.document import render_result
from gpustack.report.gpus.text import UNKNOWN
from gpustack.report.hanging import Row, print_notes, print_rows
from gpustack.report.renderings import METRICS
from gpustack.report.schema import Document, Shape, TextOrNull, take, take_optional
from gpustack.report.terminal import Terminal
from gpustack.vocabulary.fields import extract_sentence

HEADINGS = ("METRIC", "SERIES", "VALUES", "UNIT")
INDENT = "  "
POWERS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def render_human(console: Terminal, metrics: Metrics) -> None:
    rows = [
        (
            metric.name,
            UNKNOWN if metric.series is None else str(metric.series),
            format_range(metric),
            select_unit(metric),
        )
        for metric in metrics.metrics
    ]
    widths = [max(map(len, column)) for column in zip(HEADINGS, *rows, strict=True)]
    is_wide = sum(widths) + len(INDENT) * (len(widths) - 1) <= console.width
    for row, metric in zip((HEADINGS, *rows), (None, *metrics.metrics), strict=True):
        for line in format_lines(row, widths if is_wide else (0, *widths[1:])):
            console.print(console.clean(line), soft_wrap=True)
        if metric and metric.field:
            print_rows(console, [Row(extract_sentence(metric.field), INDENT)])
    console.print(f"\n{format_count(len(metrics.metrics), 'metric')}; what one means: gpustack explain metric NAME")
    print_notes(console, metrics.doubts)


def format_lines(cells: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    """Format a row. Where the first column has no width, its cell has a line of its own above the others."""
    name, *values = cells
    line = INDENT.join(cell.ljust(width) for cell, width in zip(values, widths[1:], strict=True))
    if not widths[0]:
        yield name
        name = ""
    yield f"{name:<{widths[0]}}{INDENT}{line}".rstrip()


def select_unit(metric: Metric) -> str:
    """Select the unit of a metric. Codes, flags and counts have the word of the table of fields."""
    is_count = metric.field is not None and metric.unit == "count"
    return metric.field.unit if is_count and metric.field else metric.unit or UNKNOWN


def format_range(metric: Metric) -> str:
    minimum, maximum = metric.minimum, metric.maximum
    if minimum is None or maximum is None:
        return UNKNOWN
    return format_number(minimum) if minimum == maximum else f"{format_number(minimum)} to {format_number(maximum)}"


def format_number(value: float) -> str:
    """Format a number with three significant digits: `1.98 G`."""
    for size, letter in POWERS:
        if abs(value) >= size:
            return f"{value / size:.3g} {letter}"
    return f"{value:.3g}"


def parse_field_id(id: str | None) -> int | None:
    """Parse the id of a DCGM field. A metric of the exporter itself has none."""
    return int(id) if id and id.isdigit() else None


class MetricRow(Shape):
    """Describe a metric. `series_count` is null where Prometheus answered no number. `minimum` and `maximum` are
    null where the unit is not proven, or a value is blank."""

    name: str
    series_count: int | None = take("series")
    field_id: Annotated[int | None, BeforeValidator(parse_field_id)] = take_optional("field", "id")
    unit: TextOrNull
    metric_kind: str | None = take_optional("field", "kind")
    description: TextOrNull = take_optional("field", "meaning")
    minimum: float | None
    maximum: float | None


class MetricsDocument(Document):
    """Describe the result of `gpustack gpu metrics`."""

    kind: Literal["gpustack/gpu-metrics/v1"] = Field("gpustack/gpu-metrics/v1", alias="schema")
    metrics: list[MetricRow]
    warnings: list[str] = take("doubts")


def render_json(metrics: Metrics, *, inventory: Inventory | None = None) -> str:
    return render_result(METRICS, MetricsDocument, metrics, inventory)
