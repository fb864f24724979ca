"""GPU-hours for people."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from gpustack.capacity.state import Capacity, CurrentState, FreeUnits, IdlePod, WaitingPod
from gpustack.capacity.units import SHARED_SUFFIX, is_part, parse_profile
from gpustack.capacity.usage import HOURS_BASIS, Hours, Queue, Row, Usage, sum_hours
from gpustack.capacity.window import Window
from gpustack.report.basis import list_legend, mark_number
from gpustack.report.hanging import Row as TextRow
from gpustack.report.hanging import print_notes, print_rows
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal
from gpustack.times import format_duration, format_minute

EMPTY_CELL, NO_OWNER = "-", "(nobody)"
COLUMNS = {
    "total": "TOTAL",
    "allocated": "ALLOCATED",
    "attributed": "ATTRIBUTED",
    "active": "ACTIVE",
    "idle": "IDLE",
    "free": "FREE",
    "unoffered": "UNOFFERED",
}
MAX_ROWS = 20
"""A table of the current state has so many rows at most; the other forms have all of them."""
Entry = TypeVar("Entry")


def render_human(console: Terminal, capacity: Capacity) -> None:
    usage = capacity.usage
    print_rows(console, [TextRow(f"GPU-hours, {format_span(usage)}")])
    print_coverage(console, usage)
    headings, rows = list_headings(capacity), [format_cells(row, capacity.dimensions) for row in list_rows(capacity)]
    console.print(draw_table(console, headings, rows))
    print_rows(console, map(TextRow, list_legend(headings, rows)))
    print_notes(console, usage.doubts)
    for title, names, rows in list_parts(usage.queue, capacity.current_state):
        console.print(f"\n{title}")
        if rows:
            console.print(draw_table(console, names, rows[:MAX_ROWS]))
        if len(rows) > MAX_ROWS:
            console.print(f"and {len(rows) - MAX_ROWS} more: -o json")


def print_coverage(console: Terminal, usage: Usage) -> None:
    """Print how much of the time was recorded, and from which series."""
    covered_hours = f"{usage.recorded_hours:.1f} of {usage.window_hours} hours recorded ({usage.coverage * 100:.1f} %)"
    print_rows(console, [TextRow(f"{covered_hours}; {usage.source}"), TextRow()])


def list_headings(capacity: Capacity) -> tuple[str, ...]:
    headings = (mark_number(heading, HOURS_BASIS[name]) for name, heading in COLUMNS.items())
    return (*(name.upper() for name in capacity.dimensions), *headings)


def list_rows(capacity: Capacity) -> list[Row]:
    """List the rows of the report, with the total at the end."""
    total_row = Row(
        ("all", *("" for _ in capacity.dimensions[1:])) if capacity.dimensions else (), sum_hours(capacity.rows)
    )
    return [*capacity.rows, total_row] if capacity.dimensions else [total_row]


def format_span(usage: Usage) -> str:
    return Window(usage.begin, usage.end).description


def format_cells(row: Row, dimensions: Sequence[str]) -> tuple[str, ...]:
    return (*format_names(row.names, dimensions), *(format_figure(row.hours, name) for name in COLUMNS))


def format_names(names: Sequence[str], dimensions: Sequence[str]) -> Iterator[str]:
    """Format what a row is of. Hours without a namespace are those that no pod had."""
    for name, dimension in zip(names, dimensions, strict=True):
        yield name or (NO_OWNER if dimension == "namespace" else EMPTY_CELL)


def format_figure(hours: Hours, name: str) -> str:
    """Format a figure, with a mark where its basis is not that of its column."""
    basis = hours.basis.get(name)
    return mark_number(format_hours(getattr(hours, name)), None if basis == HOURS_BASIS[name] else basis)


def format_hours(hours: float) -> str:
    return f"{hours:,.1f}"


Part = tuple[str, tuple[str, ...], list[tuple[str, ...]]]


def list_parts(queue: Sequence[Queue], state: CurrentState) -> Iterator[Part]:
    """List the tables of the current state: title, headings and rows."""
    time = f"at {format_minute(state.time)} UTC"
    queue_rows = [row for queue_entry in queue for row in list_queue_rows(queue_entry)]
    yield (
        "Queue: hours that pods waited for GPUs" if queue_rows else "Queue: no pod waited for a GPU",
        ("NAMESPACE", "TEAM", "GPU-HOURS WAITED", "PODS", "MEAN WAIT"),
        queue_rows,
    )
    yield (
        format_title("Waiting", "no pod waits for a GPU", state.waiting, time),
        ("POD", "WANTS", "SINCE", "WHY"),
        format_entries(state.waiting, lambda waiting_pod: format_waiting_cells(waiting_pod, state.time)),
    )
    yield (
        format_title("Free", "no GPU is free", state.free, time),
        ("NODE", "FREE", "WHY"),
        format_entries(state.free, format_free_cells),
    )
    yield (
        format_title("Idle for an hour or longer, and allocated", "no allocated GPU is idle", state.idle, time),
        ("POD", "GPUS", "NODES", "TEAM", "OWNER", "SINCE"),
        format_entries(state.idle, lambda idle_pod: format_idle_cells(idle_pod, state.time)),
    )


def format_title(title: str, empty_title: str, entries: Sequence[object], time: str) -> str:
    return f"{title} {time}" if entries else f"{empty_title[0].upper()}{empty_title[1:]} {time}"


def format_entries(entries: Iterable[Entry], format_entry: Callable[[Entry], tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [format_entry(entry) for entry in entries]


def list_queue_rows(queue: Queue) -> Iterator[tuple[str, ...]]:
    if queue.waited_units or queue.scheduled_pods:
        mean = format_duration(queue.waited_seconds / queue.scheduled_pods) if queue.scheduled_pods else EMPTY_CELL
        pods = f"{queue.scheduled_pods:,.0f}" if queue.scheduled_pods else EMPTY_CELL
        yield queue.namespace, queue.team or EMPTY_CELL, format_hours(queue.waited_units), pods, mean


def format_units(resource: str, units: float, gpus_per_unit: float | None) -> str:
    """Format a number of units: `2 GPUs`, `1 1g.10gb`, `3 shares of GPUs`, and where it is not known which they are,
    `2 GPUs or shares`."""
    profile = parse_profile(resource)
    if resource.endswith(SHARED_SUFFIX) or (gpus_per_unit is not None and is_part(gpus_per_unit, profile)):
        return f"{units:g} {'share' if units == 1 else 'shares'} of {profile or 'GPUs'}"
    words = profile or ("GPU" if units == 1 else "GPUs")
    return f"{units:g} {words}{' or shares' if gpus_per_unit is None else ''}"


def format_waiting_cells(waiting_pod: WaitingPod, current_time: float) -> tuple[str, ...]:
    age = (
        EMPTY_CELL
        if waiting_pod.waiting_since is None
        else f"{format_duration(current_time - waiting_pod.waiting_since)} ago"
    )
    reason = "no node fits" if waiting_pod.unschedulable else "not tried yet, or held back"
    return (
        f"{waiting_pod.namespace}/{waiting_pod.pod}",
        format_units(waiting_pod.resource, waiting_pod.units, waiting_pod.gpus_per_unit),
        age,
        reason,
    )


def format_free_cells(free_units: FreeUnits) -> tuple[str, ...]:
    words = format_units(free_units.resource, free_units.units, free_units.gpus_per_unit)
    return free_units.node, words, "; ".join(free_units.reasons)


def format_idle_cells(idle_pod: IdlePod, current_time: float) -> tuple[str, ...]:
    duration = f"{format_duration(current_time - idle_pod.idle_since)}{' or longer' if idle_pod.at_least else ''}"
    age = f"{format_minute(idle_pod.idle_since)} ({duration})"
    names = f"{idle_pod.namespace}/{idle_pod.pod}", str(idle_pod.gpus), ", ".join(idle_pod.nodes)
    return (*names, idle_pod.team or EMPTY_CELL, idle_pod.owner or EMPTY_CELL, age)
