"""A bill from hours and prices. All cells together are the total, to the cent."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import ClassVar

from gpustack.capacity.usage import Hours, Key, Usage
from gpustack.exit_status import ExitStatus, select_status
from gpustack.vocabulary.basis import Basis

CENT = Decimal("0.01")
CELLS = ("used_cost", "idle_cost", "unmeasured_cost", "free_cost", "unoffered_cost")
MONEY = (*CELLS, "allocated_cost", "total_cost")


@dataclass(frozen=True)
class Line:
    """Hold one line of a bill. `names` are the values of the dimensions. `used_cost`, `idle_cost` and
    `unmeasured_cost` are the cost of what pods had: while the engine was busy, while it was busy below 5 %, and
    while no exporter said anything. `free_cost` is that of GPUs without a pod, `unoffered_cost` that of GPUs that no
    pod could have."""

    names: tuple[str, ...]
    hours: Hours
    used_cost: Decimal
    idle_cost: Decimal
    unmeasured_cost: Decimal
    free_cost: Decimal
    unoffered_cost: Decimal
    basis: ClassVar[Mapping[str, Basis]] = dict.fromkeys(MONEY, "derived")

    @property
    def allocated_cost(self) -> Decimal:
        return self.used_cost + self.idle_cost + self.unmeasured_cost

    @property
    def total_cost(self) -> Decimal:
        return self.allocated_cost + self.free_cost + self.unoffered_cost


@dataclass(frozen=True)
class Budget:
    """Hold what a namespace may spend and has spent. `has_gpus` says whether it had GPUs at all."""

    namespace: str
    amount: Decimal
    spent_amount: Decimal
    has_gpus: bool
    basis: ClassVar[Mapping[str, Basis]] = {"spent_amount": "derived"}

    @property
    def exceeded(self) -> bool:
        return self.spent_amount > self.amount


@dataclass(frozen=True)
class Bill:
    """Hold the lines of a bill. `total` is the sum of all lines, to the cent. `days` are the totals of each day, for
    a plot."""

    usage: Usage
    dimensions: tuple[str, ...]
    currency: str
    lines: tuple[Line, ...]
    total: Line
    days: Mapping[str, Decimal]
    budgets: tuple[Budget, ...]
    doubts: tuple[str, ...]

    @property
    def exit_status(self) -> ExitStatus:
        exceeded = any(budget.exceeded for budget in self.budgets)
        return select_status(differs=exceeded, unknown=not self.usage.complete)


def split_hours(hours: Hours) -> tuple[float, ...]:
    """Split hours into those of CELLS, which add up to `total`. Measured hours are never more than allocated ones."""
    unmeasured_hours = hours.unmeasured
    idle_hours = min(hours.idle, hours.allocated - unmeasured_hours)
    return (hours.allocated - unmeasured_hours - idle_hours, idle_hours, unmeasured_hours, hours.free, hours.unoffered)


def round_cells(amounts: Sequence[Decimal]) -> list[Decimal]:
    """Round amounts to the cent so that they add up to the rounded sum: the cents that rounding down leaves go to
    the largest remainders."""
    floors = [amount.quantize(CENT, ROUND_FLOOR) for amount in amounts]
    remaining_cents = int((sum(amounts, Decimal()).quantize(CENT, ROUND_HALF_UP) - sum(floors, Decimal())) / CENT)
    order = sorted(range(len(amounts)), key=lambda cell_index: floors[cell_index] - amounts[cell_index])
    for index in order[:remaining_cents]:
        floors[index] += CENT
    return floors


def build_lines(
    prices: Mapping[Key, Decimal], hours: Mapping[Key, Hours], names: Mapping[Key, tuple[str, ...]]
) -> tuple[Line, ...]:
    """Build a line for each of the names."""
    sums: dict[tuple[str, ...], list[Decimal]] = {}
    hours_by_name: dict[tuple[str, ...], Hours] = {}
    for key, usage_hours in hours.items():
        cells = sums.setdefault(names[key], [Decimal()] * len(CELLS))
        hours_by_name.setdefault(names[key], Hours()).add(usage_hours)
        price = prices.get(key, Decimal())
        for index, part in enumerate(split_hours(usage_hours)):
            cells[index] += Decimal(repr(part)) * price
    order = sorted(sums)
    cells_in_order = round_cells([cell for name in order for cell in sums[name]])
    width = len(CELLS)
    return tuple(
        Line(name, hours_by_name[name], *cells_in_order[line_index * width : line_index * width + width])
        for line_index, name in enumerate(order)
    )


def sum_lines(lines: Iterable[Line]) -> Line:
    hours, cells = Hours(), [Decimal()] * len(CELLS)
    for line in lines:
        hours.add(line.hours)
        cells = [cell + getattr(line, name) for cell, name in zip(cells, CELLS, strict=True)]
    return Line((), hours, *cells)


def build_bill(
    usage: Usage,
    dimensions: tuple[str, ...],
    prices: Mapping[Key, Decimal],
    currency: str,
    budgets: Mapping[str, Decimal],
) -> Bill:
    """Build the bill of hours and prices, grouped by `dimensions`, which are some of DIMENSIONS."""
    names = {key: tuple(getattr(key, dimension) or "" for dimension in dimensions) for key in usage.hours}
    lines = build_lines(prices, usage.hours, names)
    daily = build_lines(prices, usage.hours, {key: (key.day,) for key in usage.hours})
    namespace_costs = {
        line.names[0]: line.allocated_cost
        for line in build_lines(prices, usage.hours, {key: (key.namespace or "",) for key in usage.hours})
    }
    judged_budgets = tuple(
        Budget(name, amount, namespace_costs.get(name, Decimal()), name in namespace_costs)
        for name, amount in sorted(budgets.items())
    )
    unknown = [budget.namespace for budget in judged_budgets if not budget.has_gpus]
    doubts = [f"no pod of {', '.join(unknown)} had a GPU: is the name of the budget right?"] if unknown else []
    days = {line.names[0]: line.total_cost for line in daily}
    return Bill(usage, dimensions, currency, lines, sum_lines(lines), days, judged_budgets, (*usage.doubts, *doubts))
