"""Rules that follow from the spec's prices and budgets: what namespaces spend, and an alert above a budget.

The same as `gpustack cost report --month`: allocated hours times the last price that fits, of a calendar month in UTC.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from gpustack.config import usage_series as series
from gpustack.config.sections.usage import Price, series_label
from gpustack.config.spec import Spec

SPENDING = "gpustack:namespace_spending:per_hour"
CLOCK = "gpustack:budget_clock:seconds"
ALERT = "GpuBudgetExceeded"
KEPT = "1d"
"""How long the last known price and unit of a node count, while its exporter says nothing."""


def groups(spec: Spec) -> list[dict[str, Any]]:
    """None without prices."""
    if not spec.cost.prices:
        return []
    recorded = [{"record": CLOCK, "expr": "time()"}, {"record": SPENDING, "expr": spending(spec)}]
    found: list[dict[str, Any]] = [{"name": "gpustack-spending", "interval": f"{series.INTERVAL}s", "rules": recorded}]
    if spec.cost.budgets:
        alerts = [alert(name, amount, spec.cost.unit) for name, amount in sorted(spec.cost.budgets.items())]
        found.append({"name": "gpustack-budgets", "interval": "5m", "rules": alerts})
    return found


def spending(spec: Spec) -> str:
    """By namespace, for an hour like the present moment."""
    unit = f"last_over_time({series.UNIT}[{KEPT}])"
    return (
        f"sum by (namespace) (\n  {series.ALLOCATED}\n  * on (node, resource) group_left () {unit}\n"
        f"  * on (node) group_left () ({' or on (node) '.join(prices(spec))})\n)"
    )


def prices(spec: Spec) -> Iterator[str]:
    """By node, the last first: of several the first that is there counts. Of a node with several models, only one for
    all models fits."""
    pool = series_label(spec.capacity.pool_label) if spec.capacity.pool_label else ""
    for one in reversed(spec.cost.prices):
        model = f'{{modelName=~"{pattern(one.model)}"}}' if one.model else ""
        alone = f" unless on (node) (count by (node) ({series.GPUS}) > 1)" if one.model else ""
        conditions = [f"max by (node) (last_over_time({series.GPUS}{model}[{KEPT}])) * 0 + {one.per_gpu_hour}{alone}"]
        conditions += [f"on (node) max by (node) (kube_node_labels{{{pool}={quoted(one.pool)}}})"] if one.pool else []
        conditions += [f"on () (vector(time()) >= {begin(one)})"] if one.begin else []
        yield f"({' and '.join(conditions)})"


def pattern(model: str) -> str:
    """Of a model as DCGM calls it; as gpustack/cost/prices.py compares them."""
    words = re.split(r"[ -]", re.sub(r"(?i)^nvidia[ -]", "", model))
    return "(?i)(nvidia[ -])?" + "[ -]".join(re.escape(word).replace("\\", "\\\\") for word in words)


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def begin(price: Price) -> int:
    assert price.begin
    return int(datetime(price.begin.year, price.begin.month, price.begin.day, tzinfo=UTC).timestamp())


def this_month(spending: str) -> str:
    """By namespace. Hours of this month alone: at each of them, its month is compared with that of the moment of the
    evaluation."""
    hourly = f"sum_over_time({spending}[{series.HOUR}]) * {series.INTERVAL} / 3600"
    present = f"month(vector(time() - 1)) == month({CLOCK} @ end())"
    return f"sum by (namespace) (sum_over_time((\n  {hourly}\n  and on () ({present})\n)[31d:1h]))"


def alert(namespace: str, amount: Decimal, currency: str) -> Mapping[str, Any]:
    return {
        "alert": ALERT,
        "expr": f"{this_month(f'{SPENDING}{{namespace={quoted(namespace)}}}')} > {amount}",
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
