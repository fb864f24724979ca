"""Dashboard of cost: allocated GPUs times the prices of the spec, as `gpustack cost report` has them."""

from gpustack.steps.budget import HOURLY_SPENDING, build_month_expression
from gpustack.vocabulary import usage_series as series
from scripts.values.grafana import (
    Panel,
    build_heading,
    build_lines,
    build_number,
    build_query,
    build_table,
    build_variable,
    render_dashboard,
)

SPENDING_SERIES = f'{HOURLY_SPENDING}{{namespace=~"$namespace"}}'
NO_PRICES = "the spec has no cost.prices"
PER_HOUR = f"{series.INTERVAL} / 3600"


def build_current_panels() -> list[Panel]:
    return [
        build_number(
            "Per hour",
            "none",
            f"sum({SPENDING_SERIES})",
            description="What pods hold now, in the spec's currency.",
            empty=NO_PRICES,
        ),
        build_number(
            "This month",
            "none",
            f"sum({build_month_expression(SPENDING_SERIES)})",
            description="So far, by months of UTC. Reports have the cents, and what nobody had.",
            empty=NO_PRICES,
        ),
        build_number(
            "Last 7 days",
            "none",
            f"sum(sum_over_time({SPENDING_SERIES}[7d])) * {PER_HOUR}",
            description="To compare with a week of the bill.",
            empty=NO_PRICES,
        ),
    ]


def build_owner_panels() -> list[Panel]:
    return [
        build_lines(
            "Per hour by namespace",
            "none",
            build_query(f"sum by (namespace) ({SPENDING_SERIES})", "{{namespace}}"),
            description="GPUs that its pods hold, times their prices.",
            empty=NO_PRICES,
        ),
        build_lines(
            "Spent in a day, by namespace",
            "none",
            build_query(f"sum by (namespace) (sum_over_time({SPENDING_SERIES}[1d])) * {PER_HOUR}", "{{namespace}}"),
            description="Of the day before each moment.",
            empty=NO_PRICES,
        ),
        build_table(
            "Namespaces",
            ("Per hour", "none", f"sum by (namespace) ({SPENDING_SERIES})"),
            ("Last 7 days", "none", f"sum by (namespace) (sum_over_time({SPENDING_SERIES}[7d])) * {PER_HOUR}"),
            ("This month", "none", build_month_expression(SPENDING_SERIES)),
            description="What namespaces spend. The alert GpuBudgetExceeded compares the month with cost.budgets.",
            empty=NO_PRICES,
        ),
    ]


def render_cost() -> str:
    return render_dashboard(
        "gpustack-gpu-cost",
        "GPU cost",
        "Allocated GPUs times the prices of the spec, by namespace.",
        [build_variable("namespace", "Namespace", HOURLY_SPENDING)],
        [*(build_heading("All"), *build_current_panels()), *(build_heading("Whose"), *build_owner_panels())],
    )
