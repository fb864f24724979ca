"""Reports of a made fleet as they are typed, and their comparison with what has been."""

import json
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from gpustack.cli.app import app
from tests.contract.fleet import L40S, PRICES, Fleet, draw_fleet
from tests.contract.fleet_truth import Truth
from tests.worlds.life.clock import DAY, HOUR, Span

SPACES, POOLS = ("vision", "speech", "search"), ("train", "serve")
NEAR, NEAR_TOTAL = 0.002, 0.0002
"""Shares of a quantity, and of all GPU-hours, by which it may be wrong. What is free is a small difference of two."""


def draw_recent_fleet(days: int, grain: float = 1.0) -> Fleet:
    return draw_fleet(time.time() // HOUR * HOUR - days * DAY, days, grain)


def write_inventory(path: Path) -> Path:
    prices = [{"model": model, "per_gpu_hour": price} for model, price in PRICES.items()]
    spec = {"cost": {"currency": "EUR", "prices": prices}, "capacity": {"pool_label": "pool"}}
    groups: dict[str, object] = {"kube_control_plane": {"hosts": {"kube1": {}}}, "kube_node": {"hosts": {"kube2": {}}}}
    path.write_text(json.dumps({"all": {"vars": {"gpustack": spec}, "children": groups}}))
    return path


def run_command(words: str, url: str, inventory: Path, days: int) -> Result:
    options = ["--prometheus", url, "-i", str(inventory), "-o", "json"]
    if words != "gpu list":
        options += ["--since", f"{days}d", "--by", "namespace,model,pool"]
    return CliRunner().invoke(app, [*words.split(), *options])


def read_report(words: str, url: str, inventory: Path, days: int) -> Any:
    result = run_command(words, url, inventory, days)
    assert result.exit_code == 0, (result.exception, getattr(result.exception, "reason", ""))
    return json.loads(result.stdout)


def read_window(document: Any) -> Span:
    return datetime.fromisoformat(document["begin"]).timestamp(), datetime.fromisoformat(document["end"]).timestamp()


def sum_rows(document: Any, name: str, **texts: str) -> float:
    """Sum a column of the rows with these names."""
    places = {document["dimensions"].index(dimension): word for dimension, word in texts.items()}
    rows = [row for row in document["rows"] if all(row["names"][index] == word for index, word in places.items())]
    return sum(float(row["hours"][name] if name in row["hours"] else row[name]) for row in rows)


def list_quantities(capacity: Any, cost: Any, truth: Truth) -> Iterator[tuple[str, float, float]]:
    """List each quantity with what has been and what is printed."""
    for quantity in ("total", "allocated", "free", "unoffered"):
        yield quantity, truth.sum_hours(quantity), sum_rows(capacity, f"{quantity}_gpu_hours")
    for quantity in ("active", "idle"):
        name = f"{quantity}_gpu_hours"
        printed_value = sum_rows(capacity, name) - sum_rows(capacity, name, model=L40S)
        yield f"{quantity}, not shared", truth.sum_hours(quantity), printed_value
    for space in SPACES:
        printed_value = sum_rows(capacity, "allocated_gpu_hours", namespace=space)
        yield f"allocated, {space}", truth.sum_hours("allocated", space), printed_value
        yield f"cost, {space}", truth.compute_cost(space), sum_rows(cost, "allocated_cost", namespace=space)
    for pool in POOLS:
        yield (
            f"total, pool {pool}",
            truth.sum_hours("total", pool=pool),
            sum_rows(capacity, "total_gpu_hours", pool=pool),
        )
    yield "cost, total", truth.compute_cost(), sum_rows(cost, "total_cost")


def find_differences(capacity: Any, cost: Any, truth: Truth) -> Mapping[str, float]:
    """Print the table, and find what is further from the truth than it may be."""
    wrong, total = {}, truth.sum_hours("total")
    for name, true_value, printed_value in list_quantities(capacity, cost, truth):
        difference = printed_value - true_value
        share = difference / true_value if true_value else 0.0
        print(f"| {name:20} | {true_value:9.1f} | {printed_value:9.1f} | {share:+.3%} |")
        if abs(difference) > max(NEAR * true_value, NEAR_TOTAL * total):
            wrong[name] = difference
    return wrong
