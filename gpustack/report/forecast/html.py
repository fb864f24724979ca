"""A forecast as one HTML file, with a plot of each pool."""

from collections.abc import Iterator
from itertools import groupby

from gpustack.config.inventory import Inventory
from gpustack.forecast.outlook import Outlook
from gpustack.forecast.pool import Forecast, PoolForecast
from gpustack.report.forecast import text as words
from gpustack.report.page import make_environment, render_plots
from gpustack.report.profile.plot import Line, Plot
from gpustack.times import DAY, format_day

HISTORY, P50, P90, P10, LIMIT = 0, 2, 1, 4, 7  # colours


def render_html(forecast: Forecast, *, inventory: Inventory | None = None) -> str:
    pools = [
        (pool, words.format_headline(forecast, pool), words.list_rows(forecast, pool), build_plot(forecast, pool))
        for pool in forecast.pools
    ]
    return render_plots(make_environment(), "forecast.html.j2", inventory, pools=pools, code=forecast.exit_status)


def build_plot(forecast: Forecast, pool: PoolForecast) -> Plot | None:
    """Build a plot of the highest hour of each day, of the history and of the forecast. Return None where nothing is
    known."""
    horizon = pool.outlook.horizon if pool.outlook else 0
    day_count = len(pool.days) + horizon
    lines = list(build_past_lines(pool, day_count))
    if not lines:
        return None
    if pool.outlook:
        lines += build_outlook_lines(pool.outlook, len(pool.days) / day_count)
    if pool.limit is not None:
        lines.append(Line("limit", [pool.limit, pool.limit], LIMIT))
    dates = tuple(format_day(round(pool.begin + share * day_count * DAY)) for share in (0.0, 0.5, 1.0))
    title = f"{pool.pool}: highest hour of each day"
    return Plot(title, "gpus", day_count * DAY, tuple(lines), (len(pool.days) * DAY,), dates)


def build_past_lines(pool: PoolForecast, day_count: int) -> Iterator[Line]:
    """Build a line for each run of days that are known."""
    stretches = groupby(enumerate(pool.days), lambda numbered_day: numbered_day[1].peak is not None)
    for number, days in enumerate([list(days) for has_peak, days in stretches if has_peak]):
        peaks = [day.peak for _, day in days if day.peak is not None]
        ends = days[0][0] / day_count, (days[-1][0] + 1) / day_count
        yield Line("" if number else "demand", peaks, HISTORY, ends[1], ends[0])


def build_outlook_lines(outlook: Outlook, begin: float) -> Iterator[Line]:
    for name, number in (("p10", P10), ("p50", P50), ("p90", P90)):
        yield Line(name.upper(), [getattr(peak, name) for peak in outlook.peaks], number, 1.0, begin)
