"""The command `gpustack cost report`, which multiplies GPU-hours by the prices of the spec."""

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated

import typer

from gpustack.cli import options
from gpustack.cli.capacity.usage import ByOption, Period, open_source, parse_dimensions
from gpustack.cli.gpu.prometheus import RecordedSource
from gpustack.cli.help import build_group, declare_command
from gpustack.cli.option_groups import Session
from gpustack.report.renderings import COST

if TYPE_CHECKING:
    from gpustack.cost.bill import Bill

app = build_group(
    "Report the cost of GPUs by the prices of the spec.",
    "gpustack cost report -i mycluster --month 2026-10",
    "gpustack cost report -i mycluster --budget team-a=5000",
)

BudgetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="NAMESPACE=AMOUNT",
        help="Exit with 1 if this namespace has spent more (repeatable). Default: cost.budgets, with --month only.",
    ),
]


@app.callback()
def cost() -> None:
    pass


def parse_budgets(texts: list[str]) -> dict[str, Decimal]:
    """Parse the budgets of --budget by namespace. Raise BadParameter that names every invalid text."""
    budgets, wrong = {}, []
    for text in texts:
        name, separator, amount = text.partition("=")
        try:
            budgets[name] = Decimal(amount)
        except InvalidOperation:
            separator = ""
        if not (name and separator and budgets[name].is_finite() and budgets[name] >= 0):
            wrong.append(text)
    if wrong:
        raise options.refuse_value("--budget", ", ".join(wrong), "NAMESPACE=AMOUNT, such as team-a=1000")
    return budgets


@declare_command(
    app,
    "gpustack cost report -i mycluster --month 2026-10",
    "gpustack cost report -i mycluster --since 7d --by namespace,team",
    "gpustack cost report -i mycluster --month 2026-10 --by day -o csv > days.csv",
    "gpustack cost report -i mycluster --month 2026-10 -o html > october.html",
    "gpustack cost report -i mycluster --month 2026-10 --budget team-a=5000",
    result=COST,
    short="Report the cost of used, idle and free GPUs.",
)
def report(
    *,
    period: Period,
    grouping: ByOption = "namespace",
    budget: BudgetOption = None,
    source: RecordedSource,
    session: Session,
) -> "Bill":
    """Report the cost of used, idle and free GPUs. The rows add up to the total.

    The prices are cost.prices of the spec. The command exits with 1 if a budget is exceeded, and with 8 if less than
    95 % of the time was recorded, or if hours are unknown."""
    names, budgets = parse_dimensions(grouping), parse_budgets(budget or [])
    with open_source(source, session) as (prometheus, spec):
        from gpustack.capacity.read import read_usage
        from gpustack.cost.bill import build_bill
        from gpustack.cost.prices import find_prices, require_prices

        require_prices(spec.cost)
        window = period.build_window(prometheus.fetch_time())
        usage = read_usage(prometheus, window, spec.capacity, period.cluster)

    # The budgets of the spec are for a calendar month.
    limits = budgets or (spec.cost.budgets if period.month else {})
    return build_bill(usage, names, find_prices(spec.cost, usage.hours), spec.cost.unit, limits)
