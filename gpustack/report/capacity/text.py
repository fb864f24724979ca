"""Hours of GPUs for people."""

from gpustack.capacity.state import Capacity
from gpustack.capacity.usage import Hours, Row, Usage, total
from gpustack.capacity.window import Window
from gpustack.report.gpus.text import draw
from gpustack.report.terminal import Terminal

NOBODY = "-"
HEADINGS = ("TOTAL", "ALLOCATED", "ATTRIBUTED", "ACTIVE", "IDLE", "FREE", "UNOFFERED")


def capacity(console: Terminal, found: Capacity) -> None:
    usage = found.usage
    console.print(f"GPU-hours, {span(usage)}")
    console.print(f"{usage.recorded:.1f} of {usage.asked} hours recorded ({usage.coverage:.1%}); {usage.source}\n")
    headings = (*(name.upper() for name in found.by), *HEADINGS)
    whole = Row(("all", *("" for _ in found.by[1:])) if found.by else (), total(found.rows))
    rows = [*found.rows, whole] if found.by else [whole]
    console.print(draw(console, headings, (cells(row) for row in rows)))
    for doubt in usage.doubts:
        console.print(console.clean(f"note: {doubt}"))


def span(usage: Usage) -> str:
    return Window(usage.begin, usage.end).shown


def cells(row: Row) -> tuple[str, ...]:
    return (*(name or NOBODY for name in row.names), *map(shown, figures(row.hours)))


def figures(hours: Hours) -> tuple[float, ...]:
    return (hours.total, hours.allocated, hours.attributed, hours.active, hours.idle, hours.free, hours.unoffered)


def shown(hours: float) -> str:
    return f"{hours:,.1f}"
