"""A bill out of hours and prices: every cent is in one cell, and all cells together are the total."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal

from gpustack.capacity.usage import Hours, Key, Usage

CENT = Decimal("0.01")
CELLS = ("used", "idle", "unmeasured", "free", "unoffered")


@dataclass(frozen=True)
class Line:
    """`names` are the values of what was grouped by. Money: `used`, `idle` and `unmeasured` are what pods had, of which
    the second is when the engine was busy below 5 %, and of the third no exporter said anything; `free` no pod had;
    `unoffered` no pod could have."""

    names: tuple[str, ...]
    hours: Hours
    used: Decimal
    idle: Decimal
    unmeasured: Decimal
    free: Decimal
    unoffered: Decimal

    @property
    def allocated(self) -> Decimal:
        return self.used + self.idle + self.unmeasured

    @property
    def total(self) -> Decimal:
        return self.allocated + self.free + self.unoffered


@dataclass(frozen=True)
class Budget:
    """What a namespace may spend, and has. `known` is whether it had GPUs at all."""

    namespace: str
    amount: Decimal
    spent: Decimal
    known: bool

    @property
    def exceeded(self) -> bool:
        return self.spent > self.amount


@dataclass(frozen=True)
class Bill:
    """`total` is of all lines, to the cent. `days` is the total of each day, for a plot."""

    usage: Usage
    by: tuple[str, ...]
    currency: str
    lines: tuple[Line, ...]
    total: Line
    days: Mapping[str, Decimal]
    budgets: tuple[Budget, ...]
    doubts: tuple[str, ...]


def parts_of(hours: Hours) -> tuple[float, ...]:
    """Hours of CELLS, together `total`. What exporters measure is never more than what is allocated."""
    unmeasured = hours.unmeasured
    idle = min(hours.idle, hours.allocated - unmeasured)
    return (hours.allocated - unmeasured - idle, idle, unmeasured, hours.free, hours.unoffered)


def round_cells(exact: Sequence[Decimal]) -> list[Decimal]:
    """To the cent, together the rounded sum: the cents that rounding down leaves go to the largest remainders."""
    floors = [one.quantize(CENT, ROUND_FLOOR) for one in exact]
    left = int((sum(exact, Decimal()).quantize(CENT, ROUND_HALF_UP) - sum(floors, Decimal())) / CENT)
    order = sorted(range(len(exact)), key=lambda at: floors[at] - exact[at])
    for at in order[:left]:
        floors[at] += CENT
    return floors


def money(
    prices: Mapping[Key, Decimal], hours: Mapping[Key, Hours], names: Mapping[Key, tuple[str, ...]]
) -> tuple[Line, ...]:
    """A line for each of the names."""
    sums: dict[tuple[str, ...], list[Decimal]] = {}
    whole: dict[tuple[str, ...], Hours] = {}
    for key, one in hours.items():
        cells = sums.setdefault(names[key], [Decimal()] * len(CELLS))
        whole.setdefault(names[key], Hours()).add(one)
        price = prices.get(key, Decimal())
        for at, part in enumerate(parts_of(one)):
            cells[at] += Decimal(repr(part)) * price
    order = sorted(sums)
    rounded = round_cells([cell for name in order for cell in sums[name]])
    wide = len(CELLS)
    return tuple(Line(name, whole[name], *rounded[at * wide : at * wide + wide]) for at, name in enumerate(order))


def add_lines(lines: Iterable[Line]) -> Line:
    hours, cells = Hours(), [Decimal()] * len(CELLS)
    for line in lines:
        hours.add(line.hours)
        cells = [cell + getattr(line, name) for cell, name in zip(cells, CELLS, strict=True)]
    return Line((), hours, *cells)


def make_bill(
    usage: Usage, by: tuple[str, ...], prices: Mapping[Key, Decimal], currency: str, budgets: Mapping[str, Decimal]
) -> Bill:
    """By some of DIMENSIONS."""
    names = {key: tuple(getattr(key, one) or "" for one in by) for key in usage.hours}
    lines = money(prices, usage.hours, names)
    daily = money(prices, usage.hours, {key: (key.day,) for key in usage.hours})
    spaces = {
        line.names[0]: line.allocated
        for line in money(prices, usage.hours, {key: (key.namespace or "",) for key in usage.hours})
    }
    judged = tuple(
        Budget(name, amount, spaces.get(name, Decimal()), name in spaces) for name, amount in sorted(budgets.items())
    )
    unknown = [one.namespace for one in judged if not one.known]
    doubts = [f"no pod of {', '.join(unknown)} had a GPU: is the name of the budget right?"] if unknown else []
    days = {line.names[0]: line.total for line in daily}
    return Bill(usage, by, currency, lines, add_lines(lines), days, judged, (*usage.doubts, *doubts))
