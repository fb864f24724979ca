"""A bill as one HTML file, with a plot by day."""

from gpustack.config.inventory import Inventory
from gpustack.cost.bill import Bill
from gpustack.report.capacity import text as usage_words
from gpustack.report.capacity.html import DAY
from gpustack.report.cost import text as words
from gpustack.report.page import make_environment, render_plots
from gpustack.report.profile.plot import Line, Plot, name_days


def render_html(bill: Bill, *, inventory: Inventory | None = None) -> str:
    budgets = [words.format_budget(budget, bill.currency) for budget in bill.budgets]
    return render_plots(
        make_environment(),
        "cost.html.j2",
        inventory,
        bill=bill,
        usage=bill.usage,
        span=usage_words.format_span(bill.usage),
        headings=words.list_headings(bill),
        rows=words.list_rows(bill),
        name_count=len(bill.dimensions),
        basis=words.BASIS,
        budgets=budgets,
        plots=build_plots(bill),
        code=bill.exit_status,
    )


def build_plots(bill: Bill) -> list[Plot]:
    days = sorted(bill.days)
    if len(days) < 2:
        return []
    line = Line("total", [float(bill.days[day]) for day in days], 0)
    title = f"Cost of each day in {bill.currency}"
    return [Plot(title, "money", len(days) * DAY, (line,), dates=name_days(days))]
