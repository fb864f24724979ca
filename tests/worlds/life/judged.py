"""The errors of the hours and the bill of a life."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from gpustack.capacity.read import query_usage
from gpustack.capacity.source import Source
from gpustack.capacity.usage import Usage, group_hours, sum_hours
from gpustack.config.sections.usage import Cost
from gpustack.cost.bill import Bill, build_bill
from gpustack.cost.prices import find_prices
from tests.worlds.life.clock import HOUR, Span
from tests.worlds.life.draw import Life
from tests.worlds.life.pod import Pod

MANY = 50.0
"""GPU-hours of a namespace from which on its own error counts; a minute of less is much of it."""
PRICES = {"NVIDIA H100 80GB HBM3": "3.20", "NVIDIA L40S": "1.1137", "NVIDIA A100-SXM4-80GB": "2", "Tesla T4": "0.35"}
COST = Cost.model_validate(
    {"currency": "EUR", "prices": [{"model": model, "per_gpu_hour": price} for model, price in PRICES.items()]}
)
SHARED_MODEL = "Tesla T4"
"""Of GPUs that pods share, no exporter knows what each did: these count as allocated, and not as idle."""

LIMITS = {"hours": 0.005, "space": 0.005, "money": 0.005, "idle": 0.02, "idle_space": 0.05, "uneven_cents": 0}


@dataclass(frozen=True)
class Errors:
    """Shares of the truth by which it is wrong; `space` and `idle_space` of the worst namespace. `uneven_cents`: by
    how many cents rows, days and total differ."""

    hours: float
    space: float
    idle: float
    idle_space: float
    money: float
    uneven_cents: Decimal


def judge(life: Life, source: Source) -> Errors:
    usage = query_usage(source)
    holes = find_holes(life)
    bill = build_bill(usage, ("namespace",), find_prices(COST, usage.hours), "EUR", {})
    truth, hours = life.truth, sum_hours(group_hours(usage, ()))
    spaces = {name: value for (name,), value in truth.compute_hours(("namespace",), holes=holes).items() if name}
    idle = {
        name: value
        for (name,), value in truth.compute_hours(("namespace",), "idle", holes=holes, of=has_whole_gpu).items()
    }
    paid = sum(
        value * float(PRICES[model])
        for (model,), value in truth.compute_hours(("model",), holes=holes).items()
        if value
    )
    return Errors(
        compute_error(hours.allocated, sum(spaces.values())),
        find_worst_error(sum_by_space(usage, "allocated"), spaces),
        compute_error(sum(sum_by_space(usage, "idle", SHARED_MODEL).values()), sum(idle.values())),
        find_worst_error(sum_by_space(usage, "idle", SHARED_MODEL), idle),
        compute_error(float(bill.total.allocated_cost), paid),
        find_uneven(bill),
    )


def find_wrong(errors: Errors) -> dict[str, float]:
    """Find by name what is further off than it may be."""
    return {name: getattr(errors, name) for name, limit in LIMITS.items() if getattr(errors, name) > limit}


def has_whole_gpu(pod: Pod) -> bool:
    return pod.model != SHARED_MODEL


def find_holes(life: Life) -> list[Span]:
    """Find what a report cannot know: gaps of hours that are more gap than not. A report fills others."""
    gaps, holes = life.scrapes.list_gaps(life.start, life.truth.known_end), list[Span]()
    for hour in range(int(life.start), int(life.truth.known_end), HOUR):
        gap_parts = [
            (max(begin, hour), min(end, hour + HOUR)) for begin, end in gaps if begin < hour + HOUR and end > hour
        ]
        if sum(end - begin for begin, end in gap_parts) > HOUR / 2:
            holes += gap_parts
    return holes


def sum_by_space(usage: Usage, quantity: str, excluded_model: str = "") -> dict[str, float]:
    sums: dict[str, float] = {}
    for row in group_hours(usage, ("namespace", "model")):
        name, model = row.names
        if name and model != excluded_model:
            sums[name] = sums.get(name, 0.0) + getattr(row.hours, quantity)
    return sums


def compute_error(measurement: float, truth: float) -> float:
    return abs(measurement - truth) / truth if truth else abs(measurement)


def find_worst_error(measured_values: Mapping[str, float], truth: Mapping[str, float]) -> float:
    return max(
        (compute_error(measured_values.get(name, 0.0), value) for name, value in truth.items() if value >= MANY),
        default=0.0,
    )


def find_uneven(bill: Bill) -> Decimal:
    rows = sum((line.total_cost for line in bill.lines), Decimal())
    return max(abs(rows - bill.total.total_cost), abs(sum(bill.days.values(), Decimal()) - bill.total.total_cost))
