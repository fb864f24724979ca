"""Rules that follow from the spec's prices and budgets: what namespaces spend, and an alert above a budget.

The amounts are those of `gpustack cost report --month`: allocated hours times the last price that fits, of a calendar
month in UTC.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from gpustack.config.sections.usage import Price
from gpustack.config.spec import Spec
from gpustack.vocabulary import usage_series as series
from gpustack.vocabulary.usage_series import format_series_label

HOURLY_SPENDING = "gpustack:namespace_spending:per_hour"
CLOCK = "gpustack:budget_clock:seconds"
ALERT = "GpuBudgetExceeded"
LOOKBACK = "1d"
"""The last known price and unit of a node count for this long while its exporter says nothing."""


def build_groups(spec: Spec) -> list[dict[str, Any]]:
    """Build the groups of rules; none without prices."""
    if not spec.cost.prices:
        return []
    recording_rules = [
        {"record": CLOCK, "expr": "time()"},
        {"record": HOURLY_SPENDING, "expr": build_spending_expression(spec)},
    ]
    rule_groups: list[dict[str, Any]] = [
        {"name": "gpustack-spending", "interval": f"{series.INTERVAL}s", "rules": recording_rules}
    ]
    if spec.cost.budgets:
        alerts = [build_alert(name, amount, spec.cost.unit) for name, amount in sorted(spec.cost.budgets.items())]
        rule_groups.append({"name": "gpustack-budgets", "interval": "5m", "rules": alerts})
    return rule_groups


def build_spending_expression(spec: Spec) -> str:
    """Build the expression for the cost of an hour like the present moment, by namespace."""
    unit = f"last_over_time({series.UNIT}[{LOOKBACK}])"
    return (
        f"sum by (namespace) (\n  {series.ALLOCATED_UNITS}\n  * on (node, resource) group_left () {unit}\n"
        f"  * on (node) group_left () ({' or on (node) '.join(list_price_expressions(spec))})\n)"
    )


def list_price_expressions(spec: Spec) -> Iterator[str]:
    """List the expressions for prices by node, the last price first: of several prices the first one counts that
    exists. For a node with several models, only a price for all models fits."""
    pool = format_series_label(spec.capacity.pool_label) if spec.capacity.pool_label else ""
    for price in reversed(spec.cost.prices):
        model = f'{{modelName=~"{build_model_pattern(price.model)}"}}' if price.model else ""
        exception = f" unless on (node) (count by (node) ({series.GPUS}) > 1)" if price.model else ""
        conditions = [
            f"max by (node) (last_over_time({series.GPUS}{model}[{LOOKBACK}])) * 0 + {price.per_gpu_hour}{exception}"
        ]
        conditions += (
            [f"on (node) max by (node) (kube_node_labels{{{pool}={quote_label_value(price.pool)}}})"]
            if price.pool
            else []
        )
        conditions += [f"on () (vector(time()) >= {compute_start_time(price)})"] if price.begin else []
        yield f"({' and '.join(conditions)})"


def build_model_pattern(model: str) -> str:
    """Build the pattern of a model as DCGM calls it, which matches as gpustack/cost/prices.py does."""
    words = re.split(r"[ -]", re.sub(r"(?i)^nvidia[ -]", "", model))
    return "(?i)(nvidia[ -])?" + "[ -]".join(re.escape(word).replace("\\", "\\\\") for word in words)


def quote_label_value(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def compute_start_time(price: Price) -> int:
    assert price.begin
    return int(datetime(price.begin.year, price.begin.month, price.begin.day, tzinfo=UTC).timestamp())


def build_month_expression(spending: str) -> str:
    """Build the expression for the amount of this month, by namespace. The month of each hour is compared with the
    month of the moment of the evaluation."""
    hourly = f"sum_over_time({spending}[{series.HOUR}]) * {series.INTERVAL} / 3600"
    present_month = f"month(vector(time() - 1)) == month({CLOCK} @ end())"
    return f"sum by (namespace) (sum_over_time((\n  {hourly}\n  and on () ({present_month})\n)[31d:1h]))"


def build_alert(namespace: str, amount: Decimal, currency: str) -> Mapping[str, Any]:
    spending = f"{HOURLY_SPENDING}{{namespace={quote_label_value(namespace)}}}"
    return {
        "alert": ALERT,
        "expr": f"{build_month_expression(spending)} > {amount}",
        "for": "0m",
        "keep_firing_for": "1h",
        "labels": {"severity": "warning"},
        "annotations": {
            "summary": "The budget of {{ $labels.namespace }} is spent",
            "description": (
                'Pods of namespace {{ $labels.namespace }} have had GPUs for {{ $value | printf "%.2f" }} '
                f"{currency} this month, of {amount}."
            ),
            "runbook_url": f"docs/alerts.md#{ALERT.lower()}",
        },
    }
