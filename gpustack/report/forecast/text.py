"""A forecast for people: when, how many, how well it would have done, or why there is none."""

from collections.abc import Iterator
from datetime import UTC, datetime
from textwrap import wrap

from gpustack.events import count
from gpustack.forecast.demand import DAY
from gpustack.forecast.outlook import Outlook
from gpustack.forecast.pool import RECENT, Forecast, PoolForecast
from gpustack.report.terminal import Terminal

WIDTH = 70


def forecast(console: Terminal, found: Forecast) -> None:
    for number, pool in enumerate(found.pools):
        for line in ([""] if number else []) + list(lines(found, pool)):
            console.print(console.clean(line))


def lines(found: Forecast, pool: PoolForecast) -> Iterator[str]:
    yield headline(found, pool)
    yield ""
    if pool.outlook is None:
        yield "no forecast"
    for heading, text in rows(found, pool):
        for number, line in enumerate(wrap(text, WIDTH)):
            yield f"{'' if number else heading:9} {line}"


def rows(found: Forecast, pool: PoolForecast) -> Iterator[tuple[str, str]]:
    """Headings and texts."""
    if pool.outlook:
        yield "full", when(pool.outlook, found.end)
        yield "P90", reaching(pool.outlook.fills.p90, found.end)
        yield "P50", reaching(pool.outlook.fills.p50, found.end)
        yield "order", order(pool.outlook, found)
    yield "history", f"{count(len(pool.days), 'day')}, until {date(found.end)}"
    yield from details(pool)


def headline(found: Forecast, pool: PoolForecast) -> str:
    capacity = "capacity unknown" if pool.capacity is None else f"capacity {pool.capacity:.0f}"
    reserve = f", {found.terms.reserve:g} to stay free" if found.terms.reserve else ""
    return f"{pool.pool}: {capacity}{reserve}"


def when(outlook: Outlook, end: int) -> str:
    """The interval, which nine of ten paths are in."""
    fills = outlook.fills
    if fills.first is None:
        return f"not within {outlook.horizon} days, in 19 of 20 paths"
    if fills.last is None:
        return f"on {day(fills.first, end)} or later; in {fills.chance:.0%} of paths within {outlook.horizon} days"
    if fills.first == fills.last:
        return f"on {day(fills.first, end)}, in nine of ten paths"
    return f"between {day(fills.first, end)} and {day(fills.last, end)}, in nine of ten paths"


def reaching(number: int | None, end: int) -> str:
    if number is None:
        return "of demand does not reach the limit within the horizon"
    return f"of demand reaches the limit on {day(number, end)}, day {number}"


def order(outlook: Outlook, found: Forecast) -> str:
    lead = f"{found.terms.lead} days"
    if outlook.at_lead is None or outlook.order is None:
        return f"not known: the history is too short for {lead}"
    demand = f"P90 of demand is then {outlook.at_lead.p90:.0f}, P50 {outlook.at_lead.p50:.0f}"
    return f"{count(outlook.order, 'GPU') if outlook.order else 'nothing'}, for a lead time of {lead}: {demand}"


def details(pool: PoolForecast) -> Iterator[tuple[str, str]]:
    """With a heading each; none twice."""
    if pool.why:
        yield "because", pool.why
    recent = [one.peak for one in pool.days[-RECENT:] if one.peak is not None]
    if recent:
        full = f"; at the limit on {count(pool.full, 'day')}" if pool.full else ""
        yield "recent", f"highest hour of {count(len(recent), 'day')}: {max(recent):.0f} GPUs{full}"
    if pool.scores:
        errors = ", ".join(f"{one.model.id} {one.mase:.2f}" for one in pool.scores)
        yield "errors", f"{errors} of those of repeating the last week ({count(pool.scores[0].folds, 'fold')})"
    if pool.outlook:
        yield "from", ", ".join(pool.outlook.models)
    for number, text in enumerate(pool.notes):
        yield "" if number else "note", text


def day(number: int, end: int) -> str:
    return date(end + (number - 1) * DAY)


def date(moment: int) -> str:
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"
