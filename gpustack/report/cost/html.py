"""A bill as one HTML file, with a plot by day."""

from gpustack.config.inventory import Inventory
from gpustack.cost.bill import Bill
from gpustack.report.capacity import text as usage_words
from gpustack.report.capacity.html import DAY
from gpustack.report.codes import cost_code
from gpustack.report.cost import text as words
from gpustack.report.page import make_environment, render_plots
from gpustack.report.profile.plot import Line, Plot, name_days


def text(found: Bill, *, inventory: Inventory | None = None) -> str:
    budgets = [words.budget(one, found.currency) for one in found.budgets]
    return render_plots(
        make_environment(),
        "cost.html.j2",
        inventory,
        found=found,
        usage=found.usage,
        span=usage_words.span(found.usage),
        headings=words.headings(found),
        rows=words.rows_of(found),
        names=len(found.by),
        budgets=budgets,
        plots=plots_of(found),
        code=cost_code(found),
    )


def plots_of(found: Bill) -> list[Plot]:
    days = sorted(found.days)
    if len(days) < 2:
        return []
    line = Line("total", [float(found.days[day]) for day in days], 0)
    title = f"Cost of each day in {found.currency}"
    return [Plot(title, "money", len(days) * DAY, (line,), dates=name_days(days))]
