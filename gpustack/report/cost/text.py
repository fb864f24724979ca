"""What GPUs cost, for people."""

from decimal import Decimal

from gpustack.cost.bill import CELLS, Bill, Budget, Line
from gpustack.report.capacity.text import NOBODY, span
from gpustack.report.capacity.text import shown as hours_shown
from gpustack.report.table import draw
from gpustack.report.terminal import Terminal

SHORT = {"unmeasured": "UNKNOWN", "unoffered": "UNUSABLE"}
HEADINGS = ("GPU-HOURS", *(SHORT.get(name, name.upper()) for name in CELLS), "TOTAL")


def bill(console: Terminal, found: Bill) -> None:
    usage = found.usage
    console.print(f"Cost in {found.currency}, {span(usage)}")
    console.print(f"{usage.recorded:.1f} of {usage.asked} hours recorded ({usage.coverage:.1%}); {usage.source}\n")
    console.print(draw(console, headings(found), rows_of(found)))
    for one in found.budgets:
        console.print(console.clean(budget(one, found.currency)))
    for doubt in found.doubts:
        console.print(console.clean(f"note: {doubt}"))


def headings(found: Bill) -> tuple[str, ...]:
    return (*(name.upper() for name in found.by), *HEADINGS)


def rows_of(found: Bill) -> list[tuple[str, ...]]:
    """With the total at the end."""
    whole = ("all", *("" for _ in found.by[1:])) if found.by else ()
    return [*(cells(line, line.names) for line in found.lines if found.by), cells(found.total, whole)]


def cells(line: Line, names: tuple[str, ...]) -> tuple[str, ...]:
    values = (*(getattr(line, name) for name in CELLS), line.total)
    return (*(name or NOBODY for name in names), hours_shown(line.hours.total), *map(amount, values))


def amount(value: Decimal) -> str:
    return f"{value:,.2f}"


def budget(one: Budget, currency: str) -> str:
    word = "exceeded" if one.exceeded else "kept"
    return f"budget of {one.namespace} {word}: {amount(one.spent)} of {amount(one.amount)} {currency}"
