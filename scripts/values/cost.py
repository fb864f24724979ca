"""Dashboard of cost: allocated GPUs times the prices of the spec, as `gpustack cost report` has them."""

from gpustack.config import usage_series as series
from gpustack.steps.budget import SPENDING, this_month
from scripts.values.grafana import Panel, dashboard, heading, lines, number, query, table, variable

WHOSE = f'{SPENDING}{{namespace=~"$namespace"}}'
NO_PRICES = "the spec has no cost.prices"
PER_HOUR = f"{series.INTERVAL} / 3600"


def now() -> list[Panel]:
    return [
        number("Per hour", "none", f"sum({WHOSE})", why="What pods hold now, in the spec's currency.", empty=NO_PRICES),
        number(
            "This month",
            "none",
            f"sum({this_month(WHOSE)})",
            why="So far, by months of UTC. Reports have the cents, and what nobody had.",
            empty=NO_PRICES,
        ),
        number(
            "Last 7 days",
            "none",
            f"sum(sum_over_time({WHOSE}[7d])) * {PER_HOUR}",
            why="To compare with a week of the bill.",
            empty=NO_PRICES,
        ),
    ]


def whose() -> list[Panel]:
    return [
        lines(
            "Per hour by namespace",
            "none",
            query(f"sum by (namespace) ({WHOSE})", "{{namespace}}"),
            why="GPUs that its pods hold, times their prices.",
            empty=NO_PRICES,
        ),
        lines(
            "Spent in a day, by namespace",
            "none",
            query(f"sum by (namespace) (sum_over_time({WHOSE}[1d])) * {PER_HOUR}", "{{namespace}}"),
            why="Of the day before each moment.",
            empty=NO_PRICES,
        ),
        table(
            "Namespaces",
            ("Per hour", "none", f"sum by (namespace) ({WHOSE})"),
            ("Last 7 days", "none", f"sum by (namespace) (sum_over_time({WHOSE}[7d])) * {PER_HOUR}"),
            ("This month", "none", this_month(WHOSE)),
            why="What namespaces spend. The alert GpuBudgetExceeded compares the month with cost.budgets.",
            empty=NO_PRICES,
        ),
    ]


def cost() -> str:
    return dashboard(
        "gpustack-gpu-cost",
        "GPU cost",
        "Allocated GPUs times the prices of the spec, by namespace.",
        [variable("namespace", "Namespace", SPENDING)],
        [*(heading("All"), *now()), *(heading("Whose"), *whose())],
    )
