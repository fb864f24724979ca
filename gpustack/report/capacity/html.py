"""Hours of GPUs as one HTML file, with a plot by day, in light, dark and print."""

from gpustack.capacity.state import Capacity
from gpustack.capacity.usage import Hours, Usage, group
from gpustack.config.inventory import Inventory
from gpustack.report.capacity import text as words
from gpustack.report.codes import capacity_code
from gpustack.report.page import make_environment, render_plots
from gpustack.report.profile.plot import Line, Plot, name_days

LINES = ("total", "allocated", "attributed", "active", "idle")
DAY = 86400.0


def text(found: Capacity, *, inventory: Inventory | None = None) -> str:
    parts = words.parts_of(found.usage.queue, found.now)
    rows = [words.cells(row) for row in words.rows_of(found)]
    return render_plots(
        make_environment(),
        "capacity.html.j2",
        inventory,
        usage=found.usage,
        span=words.span(found.usage),
        parts_now=list(parts),
        headings=words.headings(found),
        rows=rows,
        plots=plots_of(found.usage),
        names=len(found.by),
        code=capacity_code(found),
    )


def plots_of(usage: Usage) -> list[Plot]:
    """Means of each day, of the hours that are known; a single day is no line."""
    known = usage.known_hours()
    by_day = {row.names[0]: row.hours for row in group(usage, ("day",))}
    days = [day for day, hours in known.items() if hours]
    if len(days) < 2:
        return []
    lines = tuple(
        Line(name, [getattr(by_day.get(day, Hours()), name) / known[day] for day in days], number)
        for number, name in enumerate(LINES)
    )
    return [Plot("GPUs, mean of each day", "gpus", len(days) * DAY, lines, dates=name_days(days))]
