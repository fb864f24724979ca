"""The command `gpustack capacity report`."""

from typing import Annotated

from gpustack.cli import options, session
from gpustack.cli.capacity.usage import ByOption, Period, open_source, parse_dimensions
from gpustack.cli.gpu.prometheus import Source
from gpustack.report.renderings import CAPACITY


def report(
    *,
    period: Period,
    grouping: ByOption = "namespace",
    inventory: options.InventoryOption = None,
    source: Source,
    output: Annotated[str, CAPACITY] = "human",
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Report GPU-hours by use: allocated, attributed, active, idle and free, with the queue and the current state.

    docs/capacity.md defines the columns and names their series. The command exits with 8 if less than 95 % of the time
    was recorded."""
    names = parse_dimensions(grouping)
    with open_source(source, inventory, become=become, quiet=quiet) as (prometheus, hosts):
        from gpustack.capacity.current import query_current_state
        from gpustack.capacity.read import query_usage
        from gpustack.capacity.source import choose_source
        from gpustack.capacity.state import Capacity
        from gpustack.capacity.usage import group_hours
        from gpustack.vocabulary.usage_series import format_series_label

        spec = hosts.spec.capacity
        timestamp = prometheus.fetch_time()
        metric_source = choose_source(
            prometheus, period.build_window(timestamp), format_series_label(spec.team_label), period.cluster
        )
        usage = query_usage(metric_source, pool_label=spec.pool_label, renames=spec.renamed)
        state = query_current_state(metric_source)

    capacity = Capacity(usage, names, group_hours(usage, names), state)
    session.finish_command(capacity, output, inventory=hosts)
