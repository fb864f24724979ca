"""GPU-hours as one HTML file, with a plot by day, for light and dark screens and for print."""

from gpustack.capacity.state import Capacity
from gpustack.capacity.usage import Hours, Usage, group_hours
from gpustack.config.inventory import Inventory
from gpustack.report.basis import list_legend
from gpustack.report.capacity import text as words
from gpustack.report.page import make_environment, render_plots
from gpustack.report.profile.plot import Line, Plot, name_days

LINES = ("total", "allocated", "attributed", "active", "idle")
DAY = 86400.0


def render_html(capacity: Capacity, *, inventory: Inventory | None = None) -> str:
    parts = words.list_parts(capacity.usage.queue, capacity.current_state)
    headings, rows = (
        words.list_headings(capacity),
        [words.format_cells(row, capacity.dimensions) for row in words.list_rows(capacity)],
    )
    return render_plots(
        make_environment(),
        "capacity.html.j2",
        inventory,
        usage=capacity.usage,
        span=words.format_span(capacity.usage),
        state_parts=list(parts),
        headings=headings,
        rows=rows,
        legend=list(list_legend(headings, rows)),
        plots=build_plots(capacity.usage),
        name_count=len(capacity.dimensions),
        code=capacity.exit_status,
    )


def build_plots(usage: Usage) -> list[Plot]:
    """Build a plot of the mean of each day, over the hours that are known. There is none for a single day."""
    known_hours = usage.count_known_hours()
    by_day = {row.names[0]: row.hours for row in group_hours(usage, ("day",))}
    days = [day for day, hours in known_hours.items() if hours]
    if len(days) < 2:
        return []
    lines = tuple(
        Line(name, [getattr(by_day.get(day, Hours()), name) / known_hours[day] for day in days], number)
        for number, name in enumerate(LINES)
    )
    return [Plot("GPUs, mean of each day", "gpus", len(days) * DAY, lines, dates=name_days(days))]
