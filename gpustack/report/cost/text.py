"""Costs of GPUs for people."""

from collections.abc import Sequence
from decimal import Decimal

from gpustack.cost.bill import CELLS, Bill, Budget, Line
from gpustack.report.capacity.text import format_hours, format_names, format_span, print_coverage
from gpustack.report.hanging import Row, print_notes, print_rows
from gpustack.report.table import draw_table
from gpustack.report.terminal import Terminal

HEADINGS = ("GPU-HOURS", "USED", "IDLE", "UNMEASURED", "FREE", "UNOFFERED", "TOTAL")
BASIS = "all figures are derived: sums of GPU-hours, and hours times prices"


def render_human(console: Terminal, bill: Bill) -> None:
    usage = bill.usage
    print_rows(console, [Row(f"Cost in {bill.currency}, {format_span(usage)}")])
    print_coverage(console, usage)
    console.print(draw_table(console, list_headings(bill), list_rows(bill)))
    print_rows(console, [Row(BASIS)])
    for budget in bill.budgets:
        console.print(console.clean(format_budget(budget, bill.currency)))
    print_notes(console, bill.doubts)


def list_headings(bill: Bill) -> tuple[str, ...]:
    return (*(name.upper() for name in bill.dimensions), *HEADINGS)


def list_rows(bill: Bill) -> list[tuple[str, ...]]:
    """List the rows of the table, with the total at the end."""
    total_names = ("all", *("" for _ in bill.dimensions[1:])) if bill.dimensions else ()
    return [
        *(format_cells(line, line.names, bill.dimensions) for line in bill.lines if bill.dimensions),
        format_cells(bill.total, total_names, bill.dimensions),
    ]


def format_cells(line: Line, names: Sequence[str], dimensions: Sequence[str]) -> tuple[str, ...]:
    values = (*(getattr(line, name) for name in CELLS), line.total_cost)
    return (*format_names(names, dimensions), format_hours(line.hours.total), *map(format_amount, values))


def format_amount(value: Decimal) -> str:
    return f"{value:,.2f}"


def format_budget(budget: Budget, currency: str) -> str:
    word = "exceeded" if budget.exceeded else "kept"
    amounts = f"{format_amount(budget.spent_amount)} of {format_amount(budget.amount)} {currency}"
    return f"budget of {budget.namespace} {word}: {amounts}"
