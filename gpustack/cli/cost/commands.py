"""`gpustack cost`: GPU-hours times the prices of the spec."""

from decimal import Decimal, InvalidOperation
from typing import Annotated

import typer

from gpustack.cli import options
from gpustack.cli.capacity.usage import ByOption, Period, dimensions, open_source
from gpustack.cli.gpu.prometheus import Source
from gpustack.cli.help import declare, group

app = group(
    "Report what GPUs cost, by the prices of the spec.",
    "gpustack cost report -i mycluster --month 2026-10",
    "gpustack cost report -i mycluster --budget team-a=5000",
)

BudgetOption = Annotated[
    list[str] | None,
    typer.Option(
        "--budget",
        metavar="NAMESPACE=AMOUNT",
        help="End with 1 when it has spent more (repeatable). Default: the spec's.",
    ),
]


@app.callback()
def cost() -> None:
    pass


def parse_budgets(texts: list[str]) -> dict[str, Decimal]:
    """Raises BadParameter for all that are none."""
    found, wrong = {}, []
    for text in texts:
        name, equals, amount = text.partition("=")
        try:
            found[name] = Decimal(amount)
        except InvalidOperation:
            equals = ""
        if not (name and equals and found[name].is_finite() and found[name] >= 0):
            wrong.append(text)
    if wrong:
        raise typer.BadParameter(f"--budget takes NAMESPACE=AMOUNT, not {', '.join(wrong)}")
    return found


@declare(
    app,
    "gpustack cost report -i mycluster --month 2026-10",
    "gpustack cost report --since 7d --by namespace,team",
    "gpustack cost report --month 2026-10 --by day,namespace -o csv > october.csv",
    "gpustack cost report --month 2026-10 -o html > october.html",
    "gpustack cost report --month 2026-10 --budget team-a=5000 --budget team-b=800",
    short="Report what GPUs cost, to the cent.",
)
def report(
    *,
    period: Period,
    by: ByOption = "namespace",
    budget: BudgetOption = None,
    inventory: options.InventoryOption = None,
    source: Source,
    output: options.ReportOutputOption = options.ReportOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Report what GPUs cost: what pods had, of it what was idle, and what nobody had. All rows add up to the total.

    Prices are the spec's (cost.prices). Exits with 1 above a budget, with 8 when less than 95 % of the time was
    recorded."""
    names, budgets = dimensions(by), parse_budgets(budget or [])
    with open_source(source, inventory, become=become, quiet=quiet) as (prometheus, hosts):
        from gpustack.capacity.read import read_usage
        from gpustack.capacity.source import choose
        from gpustack.config.sections.usage import series_label
        from gpustack.cost.bill import make_bill
        from gpustack.cost.prices import price_hours, require_prices

        spec = hosts.spec
        require_prices(spec.cost)
        chosen = choose(
            prometheus, period.window(prometheus.now()), series_label(spec.capacity.team_label), period.cluster
        )
        usage = read_usage(chosen, pool_label=spec.capacity.pool_label, renamed=spec.capacity.renamed)
    from gpustack.report.codes import cost_code
    from gpustack.report.render import show

    # What the spec allows is of a calendar month.
    limits = budgets or (spec.cost.budgets if period.month else {})
    found = make_bill(usage, names, price_hours(spec.cost, usage.hours), spec.cost.unit, limits)
    show(found, output.value, inventory=hosts)
    raise typer.Exit(cost_code(found))
