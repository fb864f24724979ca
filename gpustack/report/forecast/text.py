"""A forecast for people: when GPUs run out, how many to order, how exact it is, or why there is none."""

from collections.abc import Iterator
from textwrap import wrap

from gpustack.events import format_count
from gpustack.forecast.outlook import Outlook
from gpustack.forecast.pool import RECENT, Forecast, PoolForecast
from gpustack.report.terminal import Terminal
from gpustack.times import DAY, format_day

WIDTH = 70


def render_human(console: Terminal, forecast: Forecast) -> None:
    for number, pool in enumerate(forecast.pools):
        for line in ([""] if number else []) + list(list_lines(forecast, pool)):
            console.print(console.clean(line))


def list_lines(forecast: Forecast, pool: PoolForecast) -> Iterator[str]:
    yield format_headline(forecast, pool)
    yield ""
    if pool.outlook is None:
        yield "no forecast"
    for heading, text in list_rows(forecast, pool):
        for number, line in enumerate(wrap(text, WIDTH)):
            yield f"{'' if number else heading:9} {line}"


def list_rows(forecast: Forecast, pool: PoolForecast) -> Iterator[tuple[str, str]]:
    """List the rows of a pool, each with its heading."""
    if pool.outlook:
        yield "full", describe_fill_date(pool.outlook, forecast.end)
        yield "P90", describe_reach(pool.outlook.fills.p90, forecast.end)
        yield "P50", describe_reach(pool.outlook.fills.p50, forecast.end)
        yield "order", describe_order(pool.outlook, forecast)
    yield "history", f"{format_count(len(pool.days), 'day')}, until {format_day(forecast.end)}"
    yield from list_details(pool)


def format_headline(forecast: Forecast, pool: PoolForecast) -> str:
    capacity = "capacity unknown" if pool.capacity is None else f"capacity {pool.capacity:.0f}"
    reserve = f", {forecast.terms.reserve:g} to stay free" if forecast.terms.reserve else ""
    return f"{pool.pool}: {capacity}{reserve}"


def describe_fill_date(outlook: Outlook, end: int) -> str:
    """Describe the days between which nine of ten paths reach the limit."""
    fills = outlook.fills
    if fills.first is None:
        return f"not within {outlook.horizon} days, in 19 of 20 paths"
    if fills.last is None:
        chance = f"in {fills.chance * 100:.0f} % of paths within {outlook.horizon} days"
        return f"on {name_day(fills.first, end)} or later; {chance}"
    if fills.first == fills.last:
        return f"on {name_day(fills.first, end)}, in nine of ten paths"
    return f"between {name_day(fills.first, end)} and {name_day(fills.last, end)}, in nine of ten paths"


def describe_reach(number: int | None, end: int) -> str:
    if number is None:
        return "of demand does not reach the limit within the horizon"
    return f"of demand reaches the limit on {name_day(number, end)}, day {number}"


def describe_order(outlook: Outlook, forecast: Forecast) -> str:
    lead = f"{forecast.terms.lead} days"
    if outlook.at_lead is None or outlook.order is None:
        return f"not known: the history is too short for {lead}"
    demand = f"P90 of demand is then {outlook.at_lead.p90:.0f}, P50 {outlook.at_lead.p50:.0f}"
    return f"{format_count(outlook.order, 'unit') if outlook.order else 'nothing'}, for a lead time of {lead}: {demand}"


def list_details(pool: PoolForecast) -> Iterator[tuple[str, str]]:
    """List the reasons and scores of a pool, each with its heading."""
    if pool.message:
        yield "because", pool.message
    recent = [day.peak for day in pool.days[-RECENT:] if day.peak is not None]
    if recent:
        full = f"; at the limit on {format_count(pool.full, 'day')}" if pool.full else ""
        yield "recent", f"highest hour of {format_count(len(recent), 'day')}: {max(recent):.0f} units{full}"
    if pool.scores:
        errors = ", ".join(f"{score.model.id} {score.mase:.2f}" for score in pool.scores)
        folds = format_count(pool.scores[0].folds, "fold")
        yield "errors", f"{errors} times those of the seasonal naive forecast ({folds})"
    if pool.outlook:
        yield "from", ", ".join(pool.outlook.models)
    for number, text in enumerate(pool.notes):
        yield "" if number else "note", text


def name_day(number: int, end: int) -> str:
    return format_day(end + (number - 1) * DAY)
