"""Money: prices by model, pool and day, and cells that add up."""

from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from gpustack.capacity.read import query_usage
from gpustack.capacity.usage import Hours, Key, Usage
from gpustack.config.sections.usage import Cost
from gpustack.cost.bill import CELLS, CENT, build_bill, round_cells
from gpustack.cost.prices import find_price, find_prices
from gpustack.errors import ConfigError
from tests.worlds.prometheus.usage import Recorder

AMOUNTS = st.lists(st.decimals(0, 10**9, places=12, allow_nan=False), min_size=1, max_size=40)
PARTS = st.floats(0, 1e5, allow_nan=False)


def build_cost(*prices: dict[str, object], **fields: object) -> Cost:
    return Cost.model_validate({"currency": "EUR", "prices": list(prices), **fields})


@given(AMOUNTS)
def test_cells_add_up_and_none_is_a_cent_off(exact: list[Decimal]) -> None:
    rounded_cells = round_cells(exact)
    assert sum(rounded_cells) == sum(exact, Decimal()).quantize(CENT, "ROUND_HALF_UP")
    assert all(abs(cell - exact_cell) < CENT for cell, exact_cell in zip(rounded_cells, exact, strict=True))


@settings(max_examples=25)
@given(st.lists(st.tuples(*[PARTS] * 6), min_size=1, max_size=8), st.decimals("0.01", 99, places=4))
def test_rows_add_up_to_hours_times_price(parts: list[tuple[float, ...]], price: Decimal) -> None:
    hours = {
        Key("2026-10-01", "", f"n{index}", "H100", "", f"s{index % 3}", ""): Hours(*hour_values)
        for index, hour_values in enumerate(parts)
    }
    usage = Usage(0, 3600, hours, (), 1, 1.0, 0.0, (), "x")
    bill = build_bill(usage, ("namespace",), dict.fromkeys(hours, price), "EUR", {})
    whole_cost = sum((Decimal(repr(hour.total)) * price for hour in hours.values()), Decimal())
    assert sum((line.total_cost for line in bill.lines), Decimal()) == bill.total.total_cost
    assert abs(bill.total.total_cost - whole_cost) <= CENT
    assert all(getattr(line, cell) >= 0 for line in bill.lines for cell in CELLS)
    assert sum(bill.days.values()) == bill.total.total_cost


def test_a_price_is_the_last_that_fits() -> None:
    prices = build_cost(
        {"per_gpu_hour": 1},
        {"model": "H100 80GB HBM3", "per_gpu_hour": 2},
        {"model": "NVIDIA-H100-80GB-HBM3", "from": "2026-10-15", "per_gpu_hour": "2.50"},
        {"model": "H100 80GB HBM3", "pool": "spot", "per_gpu_hour": 0.9},
    ).prices
    h100 = "NVIDIA H100 80GB HBM3"
    assert find_price(prices, "Tesla T4", "", "2026-10-01") == 1
    assert find_price(prices, h100, "", "2026-10-14") == 2
    assert find_price(prices, h100, "", "2026-10-15") == Decimal("2.5")
    assert find_price(prices, h100, "spot", "2026-10-20") == Decimal("0.9")


def test_a_price_change_in_mid_month_counts_from_its_day() -> None:
    world = Recorder(48)
    world.record_node("n", 0, 2880, 2, model="H100")
    world.record_pod("n", "a", 0, 2880, 1, active=0.01)
    usage = query_usage(world.build_source())
    spec = build_cost({"per_gpu_hour": 1}, {"from": "2026-10-02", "per_gpu_hour": 3})
    bill = build_bill(
        usage, ("namespace",), find_prices(spec, usage.hours), spec.unit, {"a": Decimal(90), "b": Decimal(1)}
    )
    (unowned_line, a) = bill.lines
    assert [a.idle_cost, a.used_cost, unowned_line.free_cost, bill.total.total_cost] == [96, 0, 96, 192]
    assert [(budget.namespace, budget.exceeded) for budget in bill.budgets] == [("a", True), ("b", False)]
    assert bill.doubts[-1].startswith("no pod of b had a GPU")


def test_what_has_no_price_is_named_with_its_days() -> None:
    world = Recorder(48)
    world.record_node("n1", 0, 2880, 2, model="NVIDIA H100")
    world.record_node("n2", 0, 2880, 2, model="NVIDIA L4")
    usage = query_usage(world.build_source())
    with pytest.raises(ConfigError) as excinfo:
        find_prices(build_cost({"model": "H100", "from": "2026-10-02", "per_gpu_hour": 1}), usage.hours)
    assert excinfo.value.reference == "cost-no-price"
    assert excinfo.value.reason.splitlines() == [
        "NVIDIA H100, 2026-10-01 to 2026-10-01: n1",
        "NVIDIA L4, 2026-10-01 to 2026-10-02: n2",
    ]
    with pytest.raises(ConfigError) as excinfo:
        find_prices(Cost(), usage.hours)
    assert excinfo.value.reference == "cost-no-prices"


@pytest.mark.parametrize(
    ("spec", "word"),
    [
        (
            {"currency": "EUR", "prices": [{"per_gpu_hour": 1}, {"per_gpu_hour": 1, "currency": "USD"}]},
            r"EUR \(1\), USD \(1\)",
        ),
        ({"prices": [{"per_gpu_hour": 1}]}, "a currency"),
        ({"budgets": {"a": 1}}, "prices, where there are budgets"),
        ({"currency": "EUR", "prices": [{"per_gpu_hour": -1}]}, "greater than or equal"),
        ({"currency": "euro"}, "such as EUR"),
    ],
)
def test_a_wrong_spec_is_refused(spec: dict[str, object], word: str) -> None:
    with pytest.raises(ValidationError, match=word):
        Cost.model_validate(spec)
