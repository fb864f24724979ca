"""A bill as one JSON document, and as CSV. Money is text, because a binary fraction would not be exact."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gpustack.config.inventory import Inventory
from gpustack.cost.bill import MONEY, Bill
from gpustack.report.capacity.json import COLUMNS, GapShape, HoursShape, UsageDocument
from gpustack.report.csv_text import write_csv
from gpustack.report.document import render_result
from gpustack.report.format import build_cleaner
from gpustack.report.renderings import COST
from gpustack.report.schema import NumbersShape, Shape, take
from gpustack.vocabulary.basis import Basis

Money = Annotated[str, BeforeValidator(lambda value: f"{value:.2f}")]


class LineShape(Shape, NumbersShape):
    """Describe the cost of one value of each dimension. Used, idle and unmeasured cost add up to the allocated cost;
    with the free and unoffered cost they are the total cost."""

    names: list[str]
    hours: HoursShape
    used_cost: Money
    idle_cost: Money
    unmeasured_cost: Money
    free_cost: Money
    unoffered_cost: Money
    allocated_cost: Money
    total_cost: Money
    basis: dict[str, Basis]


class BudgetShape(Shape, NumbersShape):
    """Describe what a namespace may spend and has spent."""

    namespace: str
    amount: Money
    spent_amount: Money
    has_gpus: bool
    exceeded: bool
    basis: dict[str, Basis]


class CostDocument(UsageDocument):
    """Describe the result of `gpustack cost report` from `begin` to `end`, in `currency`. Of `window_hours`,
    `recorded_hours` are known and billed. All `rows` add up to `total`, to the cent, and so does `cost_by_day`."""

    kind: Literal["gpustack/cost/v1"] = Field("gpustack/cost/v1", alias="schema")
    currency: str
    dimensions: list[str]
    rows: list[LineShape] = take("lines")
    total: LineShape
    cost_by_day: dict[str, Money] = take("days")
    budgets: list[BudgetShape]
    gaps: list[GapShape] = take("usage", "gaps")
    warnings: list[str] = take("doubts")


def render_json(bill: Bill, *, inventory: Inventory | None = None) -> str:
    return render_result(COST, CostDocument, bill, inventory)


def render_csv(bill: Bill, *, inventory: Inventory | None = None) -> str:
    """Render a line for each row, with the names of the JSON document."""
    heading, rows = [*bill.dimensions, "currency", *MONEY, *(f"{name}_gpu_hours" for name in COLUMNS)], []
    for line in bill.lines:
        values = [f"{getattr(line, name):.2f}" for name in MONEY]
        hours = [f"{getattr(line.hours, name):.3f}" for name in COLUMNS]
        rows.append([*line.names, bill.currency, *values, *hours])
    return write_csv(heading, rows, build_cleaner(inventory))
