"""A bill as one JSON document, and as CSV. Money is text, as a fraction of two would not be exact."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gpustack.config.inventory import Inventory
from gpustack.cost.bill import CELLS, Bill
from gpustack.report.capacity.json import COLUMNS, GapShape, HoursShape
from gpustack.report.codes import COSTED, cost_code
from gpustack.report.csv_text import write_csv
from gpustack.report.document import document, ending
from gpustack.report.format import cleaner
from gpustack.report.schema import Document, Shape

Money = Annotated[str, BeforeValidator(lambda value: f"{value:.2f}"), Field(description="such as 1204.50")]
MONEY = (*CELLS, "allocated", "total")


class LineShape(Shape):
    """Of one value of each dimension in `by`, in its order; an empty one is not known, or of what no pod has. `used`,
    `idle` and `unmeasured` are what pods had, together `allocated`; with `free` and `unoffered` they are `total`."""

    names: list[str]
    hours: HoursShape
    used: Money
    idle: Money
    unmeasured: Money
    free: Money
    unoffered: Money
    allocated: Money
    total: Money


class BudgetShape(Shape):
    """What a namespace may spend, and has; `known`: it had GPUs."""

    namespace: str
    amount: Money
    spent: Money
    known: bool
    exceeded: bool


class CostDocument(Document):
    """Result of `gpustack cost report`: from `begin` to `end`, in seconds since 1970, in `currency`. Of the `asked`
    hours, `recorded` are known and billed. All `lines` add up to `total`, to the cent, and so do `days`. `doubts` are
    sentences."""

    kind: Literal["gpustack/cost/v1"] = Field("gpustack/cost/v1", alias="schema")
    begin: int
    end: int
    asked: int
    recorded: float
    bridged: float
    source: str
    currency: str
    by: list[str]
    lines: list[LineShape]
    total: LineShape
    days: dict[str, Money]
    budgets: list[BudgetShape]
    gaps: list[GapShape]
    doubts: list[str]


def text(found: Bill, *, inventory: Inventory | None = None) -> str:
    values = {**vars(found.usage), **vars(found), "exit": ending(cost_code(found), COSTED)}
    return document(CostDocument, values, inventory)


def table(found: Bill, *, inventory: Inventory | None = None) -> str:
    """A line for each row, with the names of the JSON document."""
    heading, rows = [*found.by, "currency", *MONEY, *(f"{name}_gpu_hours" for name in COLUMNS)], []
    for line in found.lines:
        values = [f"{getattr(line, name):.2f}" for name in MONEY]
        hours = [f"{getattr(line.hours, name):.3f}" for name in COLUMNS]
        rows.append([*line.names, found.currency, *values, *hours])
    return write_csv(heading, rows, cleaner(inventory))
