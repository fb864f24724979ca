"""A forecast for people: when, how many, how well it would have done, or why there is none."""

from collections.abc import Iterator
from datetime import UTC, datetime

from gpustack.events import count
from gpustack.forecast.demand import DAY
from gpustack.forecast.outlook import Fills, Outlook
from gpustack.forecast.pool import RECENT, Forecast, PoolForecast
from gpustack.report.terminal import Terminal

GPU = "GPU"


def forecast(console: Terminal, found: Forecast) -> None:
    for number, pool in enumerate(found.pools):
        for line in ([""] if number else []) + list(lines(found, pool)):
            console.print(console.clean(line))


def lines(found: Forecast, pool: PoolForecast) -> Iterator[str]:
    yield headline(found, pool)
    yield ""
    if pool.outlook is None:
        yield "no forecast"
    else:
        yield f"full      {when(pool.outlook, found.end)}"
        yield f"          {reaching(pool.outlook.fills, found.end)}"
        yield f"order     {order(pool.outlook, found)}"
    for heading, text in details(pool):
        yield f"{heading:9} {text}"


def headline(found: Forecast, pool: PoolForecast) -> str:
    history = f"{count(len(pool.days), 'day')} of history until {date(found.end)}"
    capacity = "capacity unknown" if pool.capacity is None else f"capacity {pool.capacity:.0f}"
    reserve = f", {found.terms.reserve:g} to stay free" if found.terms.reserve else ""
    return f"{pool.pool}: {capacity}{reserve}; {history}"


def when(outlook: Outlook, end: int) -> str:
    """The interval, which nine of ten paths are in."""
    fills = outlook.fills
    if fills.first is None:
        return f"not within {outlook.horizon} days, in 19 of 20 paths"
    if fills.last is None:
        return f"on {day(fills.first, end)} or later; in {fills.chance:.0%} of paths within {outlook.horizon} days"
    return f"between {day(fills.first, end)} and {day(fills.last, end)}, in nine of ten paths"


def reaching(fills: Fills, end: int) -> str:
    def at(number: int | None) -> str:
        return "not within the horizon" if number is None else f"{day(number, end)}, day {number}"

    return f"P90 of demand reaches the limit: {at(fills.p90)}; P50: {at(fills.p50)}"


def order(outlook: Outlook, found: Forecast) -> str:
    lead = f"{found.terms.lead} days"
    if outlook.at_lead is None or outlook.order is None:
        return f"not known: the history is too short for {lead}"
    demand = f"in {lead} P90 of demand is {outlook.at_lead.p90:.0f}, P50 {outlook.at_lead.p50:.0f}"
    return f"{count(outlook.order, GPU) if outlook.order else 'nothing'} for a lead time of {lead}: {demand}"


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
