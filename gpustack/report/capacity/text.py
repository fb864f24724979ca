"""Hours of GPUs for people."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from gpustack.capacity.state import Capacity, Free, IdlePod, Now, Waiting
from gpustack.capacity.units import profile_of
from gpustack.capacity.usage import Hours, Queue, Row, Usage, total
from gpustack.capacity.window import Window, moment
from gpustack.report.format import duration
from gpustack.report.table import draw
from gpustack.report.terminal import Terminal

NOBODY = "-"
HEADINGS = ("TOTAL", "ALLOCATED", "ATTRIBUTED", "ACTIVE", "IDLE", "FREE", "UNUSABLE")
MOST = 20
"""Rows of what is so now; the other forms have all."""
Thing = TypeVar("Thing")


def capacity(console: Terminal, found: Capacity) -> None:
    usage = found.usage
    console.print(f"GPU-hours, {span(usage)}")
    console.print(f"{usage.recorded:.1f} of {usage.asked} hours recorded ({usage.coverage:.1%}); {usage.source}\n")
    console.print(draw(console, headings(found), map(cells, rows_of(found))))
    for doubt in usage.doubts:
        console.print(console.clean(f"note: {doubt}"))
    for title, names, rows in parts_of(usage.queue, found.now):
        console.print(f"\n{title}")
        if rows:
            console.print(draw(console, names, rows[:MOST]))
        if len(rows) > MOST:
            console.print(f"and {len(rows) - MOST} more: -o json")


def headings(found: Capacity) -> tuple[str, ...]:
    return (*(name.upper() for name in found.by), *HEADINGS)


def rows_of(found: Capacity) -> list[Row]:
    """With one of all, at the end."""
    whole = Row(("all", *("" for _ in found.by[1:])) if found.by else (), total(found.rows))
    return [*found.rows, whole] if found.by else [whole]


def span(usage: Usage) -> str:
    return Window(usage.begin, usage.end).shown


def cells(row: Row) -> tuple[str, ...]:
    return (*(name or NOBODY for name in row.names), *map(shown, figures(row.hours)))


def figures(hours: Hours) -> tuple[float, ...]:
    return (hours.total, hours.allocated, hours.attributed, hours.active, hours.idle, hours.free, hours.unoffered)


def shown(hours: float) -> str:
    return f"{hours:,.1f}"


Part = tuple[str, tuple[str, ...], list[tuple[str, ...]]]


def parts_of(queue: Sequence[Queue], now: Now) -> Iterator[Part]:
    """Title, headings and rows."""
    at = f"at {moment(now.at)} UTC"
    waited = [row for one in queue for row in queue_cells(one)]
    yield (
        "Queue: hours that pods waited for GPUs",
        ("NAMESPACE", "TEAM", "GPU-HOURS WAITED", "PODS", "MEAN WAIT"),
        waited,
    )
    yield (
        titled("Waiting", "no pod waits for a GPU", now.waiting, at),
        ("POD", "WANTS", "SINCE", "WHY"),
        each(now.waiting, lambda one: waiting_cells(one, now.at)),
    )
    yield titled("Free", "no GPU is free", now.free, at), ("NODE", "FREE", "WHY"), each(now.free, free_cells)
    yield (
        titled("Idle for an hour or longer, and allocated", "no allocated GPU is idle", now.idle, at),
        ("POD", "GPUS", "NODES", "TEAM", "OWNER", "SINCE"),
        each(now.idle, lambda one: idle_cells(one, now.at)),
    )


def titled(some: str, none: str, found: Sequence[object], at: str) -> str:
    return f"{some} {at}" if found else f"{none[0].upper()}{none[1:]} {at}"


def each(found: Iterable[Thing], show: Callable[[Thing], tuple[str, ...]]) -> list[tuple[str, ...]]:
    return [show(one) for one in found]


def queue_cells(one: Queue) -> Iterator[tuple[str, ...]]:
    if one.waited_units or one.scheduled:
        mean = duration(one.waited / one.scheduled) if one.scheduled else NOBODY
        pods = f"{one.scheduled:,.0f}" if one.scheduled else NOBODY
        yield one.namespace, one.team or NOBODY, shown(one.waited_units), pods, mean


def unit_name(resource: str, units: float) -> str:
    """`2 GPUs`, `1 1g.10gb`."""
    profile = profile_of(resource)
    words = profile or ("shares of GPUs" if resource.endswith("_shared") else "GPU" if units == 1 else "GPUs")
    return f"{units:g} {words}"


def waiting_cells(one: Waiting, now: float) -> tuple[str, ...]:
    since = NOBODY if one.since is None else f"{duration(now - one.since)} ago"
    why = "no node fits" if one.unschedulable else "not tried yet, or held back"
    return f"{one.namespace}/{one.pod}", unit_name(one.resource, one.units), since, why


def free_cells(one: Free) -> tuple[str, ...]:
    return one.node, unit_name(one.resource, one.units), "; ".join(one.reasons)


def idle_cells(one: IdlePod, now: float) -> tuple[str, ...]:
    since = f"{moment(one.since)} ({duration(now - one.since)}{' or longer' if one.at_least else ''})"
    names = f"{one.namespace}/{one.pod}", str(one.gpus), ", ".join(one.nodes)
    return (*names, one.team or NOBODY, one.owner or NOBODY, since)
