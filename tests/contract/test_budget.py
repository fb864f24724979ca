"""Rules out of prices and budgets, by Prometheus' own checker: what is spent, in which month, by which price."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from gpustack.config.spec import Spec
from gpustack.steps import budget
from gpustack.steps.alerts import build_groups
from tests.contract.promtool import run_promtool

UNIT, GPUS = "gpustack:node_usage_unit:ratio", "gpustack:node_usage_gpus:count"
ALLOCATED_GPUS = "gpustack:node_usage_allocated:count"
RESOURCE = 'resource="nvidia_com_gpu"'
ORDER = ["gpustack-spending", "gpustack-budgets"]
JANUARY = 31 * 24  # hours: promtool begins in 1970


def build_spec(*prices: dict[str, Any], **budgets: float) -> Spec:
    cost = {"currency": "EUR", "prices": list(prices), "budgets": budgets}
    return Spec.model_validate({"capacity": {"pool_label": "pool"}, "cost": cost})


def check_rules(folder: Path, spec: Spec, series: dict[str, str], *probes: dict[str, Any], interval: str) -> str:
    (folder / "rules.yaml").write_text(yaml.safe_dump({"groups": budget.build_groups(spec)}))
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    case = {"interval": interval, "input_series": inputs, "promql_expr_test": list(probes)}
    (folder / "test.yaml").write_text(
        yaml.safe_dump(
            {"rule_files": ["rules.yaml"], "evaluation_interval": interval, "group_eval_order": ORDER, "tests": [case]}
        )
    )
    return run_promtool("check", "rules", folder / "rules.yaml") + run_promtool("test", "rules", folder / "test.yaml")


def expect_spending(namespace: str, amount: float, eval_time: str) -> dict[str, Any]:
    samples = [{"labels": f'{budget.HOURLY_SPENDING}{{namespace="{namespace}"}}', "value": amount}]
    return {
        "expr": f'{budget.HOURLY_SPENDING}{{namespace="{namespace}"}}',
        "eval_time": eval_time,
        "exp_samples": samples,
    }


def test_the_last_price_that_fits_counts(tmp_path: Path) -> None:
    """Prices are by model, however it is written, by pool and by day. Shares of GPUs are parts of a price, and an
    exporter that is restarted costs nothing less. The cost of a node with several models is not known by model."""
    prices: list[dict[str, Any]] = [
        {"per_gpu_hour": 1},
        {"model": "H100 80GB HBM3", "per_gpu_hour": 2},
        {"model": "NVIDIA-L4", "pool": "spot", "per_gpu_hour": "0.5"},
        {"model": "H100 80GB HBM3", "from": "1970-01-02", "per_gpu_hour": 3},
    ]
    series = {
        f'{GPUS}{{node="h",modelName="NVIDIA H100 80GB HBM3"}}': "8 8 _x3 8x25",
        f'{GPUS}{{node="l",modelName="NVIDIA L4"}}': "4x30",
        f'{GPUS}{{node="o",modelName="Tesla T4"}}': "4x30",
        f'{GPUS}{{node="m",modelName="NVIDIA H100 80GB HBM3"}}': "4x30",
        f'{GPUS}{{node="m",modelName="Tesla T4"}}': "4x30",
        f'{UNIT}{{node="m",{RESOURCE}}}': "1x30",
        f'{ALLOCATED_GPUS}{{node="m",namespace="c",{RESOURCE}}}': "2x30",
        'kube_node_labels{node="l",label_pool="spot"}': "1x30",
        f'{UNIT}{{node="h",{RESOURCE}}}': "1 1 _x3 1x25",
        f'{UNIT}{{node="l",{RESOURCE}}}': "0.25x30",
        f'{UNIT}{{node="o",{RESOURCE}}}': "1x30",
        f'{ALLOCATED_GPUS}{{node="h",namespace="a",team="x",{RESOURCE}}}': "2x30",
        f'{ALLOCATED_GPUS}{{node="l",namespace="b",{RESOURCE}}}': "4x30",
        f'{ALLOCATED_GPUS}{{node="o",namespace="b",{RESOURCE}}}': "1x30",
    }
    probes = (
        expect_spending("a", 4, "1h"),
        expect_spending("a", 4, "4h"),
        expect_spending("a", 6, "25h"),
        expect_spending("b", 1.5, "2h"),
        expect_spending("c", 2, "2h"),
    )
    assert check_rules(tmp_path, build_spec(*prices, a=1), series, *probes, interval="1h") == ""


def test_an_alert_fires_above_the_budget_and_is_of_one_month(tmp_path: Path) -> None:
    """A sample every six hours, as if it were one of sixty: what counts is which of them are of the month."""
    series = {
        f'{GPUS}{{node="n",modelName="L4"}}': "1x150",
        f'{UNIT}{{node="n",{RESOURCE}}}': "1x150",
        f'{ALLOCATED_GPUS}{{node="n",namespace="a",{RESOURCE}}}': "360x150",
        f'{ALLOCATED_GPUS}{{node="n",namespace="b",{RESOURCE}}}': "1x150",
    }
    fires = {"labels": 'ALERTS{alertname="GpuBudgetExceeded",alertstate="firing",namespace="a",severity="warning"}'}
    probes = [
        {"expr": "ALERTS", "eval_time": f"{hours}h", "exp_samples": [fires | {"value": 1}] if firing else []}
        for hours, firing in (
            (96, False),
            (102, True),
            (JANUARY - 6, True),
            (JANUARY + 6, False),
            (JANUARY + 102, True),
        )
    ]
    assert check_rules(tmp_path, build_spec({"per_gpu_hour": 1}, a=100, b=100), series, *probes, interval="6h") == ""


def test_without_budgets_there_are_none_and_with_them_they_are_loaded() -> None:
    assert budget.build_groups(Spec()) == []
    assert [group["name"] for group in budget.build_groups(build_spec({"per_gpu_hour": 1}))] == ["gpustack-spending"]
    groups = build_groups(build_spec({"per_gpu_hour": 1}, a=1))["gpu-alerts"]
    assert [group["name"] for group in groups][-2:] == ["gpustack-spending", "gpustack-budgets"]
    assert groups[-1]["rules"][0]["annotations"]["runbook"] == "gpustack explain alert-gpubudgetexceeded"


@pytest.mark.parametrize("label", ["team", "example.com/costCenter"])
def test_rules_read_the_label_of_the_spec(label: str) -> None:
    groups = build_groups(Spec.model_validate({"capacity": {"team_label": label}}))["gpu-recording"]
    (rule,) = [rule for group in groups for rule in group["rules"] if rule["record"] == "gpustack:pod_team:info"]
    assert ("label_team" in rule["expr"]) == (label == "team")
    assert ("label_example_com_cost_center" in rule["expr"]) == (label != "team")
