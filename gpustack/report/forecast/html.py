"""A forecast as one HTML file, with a plot of each pool."""

from collections.abc import Iterator
from itertools import groupby

from gpustack.config.inventory import Inventory
from gpustack.forecast.demand import DAY
from gpustack.forecast.outlook import Outlook
from gpustack.forecast.pool import Forecast, PoolForecast
from gpustack.report.codes import forecast_code
from gpustack.report.forecast import text as words
from gpustack.report.page import make_environment, render_plots
from gpustack.report.profile.plot import Line, Plot

PAST, P50, P90, P10, LIMIT = 0, 2, 1, 4, 7  # colours


def text(found: Forecast, *, inventory: Inventory | None = None) -> str:
    pools = [(pool, words.headline(found, pool), words.rows(found, pool), plot(found, pool)) for pool in found.pools]
    return render_plots(make_environment(), "forecast.html.j2", inventory, pools=pools, code=forecast_code(found))


def plot(found: Forecast, pool: PoolForecast) -> Plot | None:
    """Highest hours of the days that were and that may come; None without any."""
    after = pool.outlook.horizon if pool.outlook else 0
    whole = len(pool.days) + after
    lines = list(past(pool, whole))
    if not lines:
        return None
    if pool.outlook:
        lines += coming(pool.outlook, len(pool.days) / whole)
    if pool.limit is not None:
        lines.append(Line("limit", [pool.limit, pool.limit], LIMIT))
    dates = tuple(words.date(round(pool.begin + share * whole * DAY)) for share in (0.0, 0.5, 1.0))
    title = f"{pool.pool}: highest hour of each day"
    return Plot(title, "gpus", whole * DAY, tuple(lines), (len(pool.days) * DAY,), dates)


def past(pool: PoolForecast, whole: int) -> Iterator[Line]:
    """A line for each stretch of days that are known."""
    known = groupby(enumerate(pool.days), lambda one: one[1].peak is not None)
    for number, days in enumerate([list(days) for there, days in known if there]):
        peaks = [day.peak for _, day in days if day.peak is not None]
        ends = days[0][0] / whole, (days[-1][0] + 1) / whole
        yield Line("" if number else "demand", peaks, PAST, ends[1], ends[0])


def coming(outlook: Outlook, begin: float) -> Iterator[Line]:
    for name, number in (("p10", P10), ("p50", P50), ("p90", P90)):
        yield Line(name.upper(), [getattr(one, name) for one in outlook.peaks], number, 1.0, begin)
