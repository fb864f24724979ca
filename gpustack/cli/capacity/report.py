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
        from gpustack.capacity.read import read_capacity

        window = period.build_window(prometheus.fetch_time())
        capacity = read_capacity(prometheus, window, hosts.spec.capacity, period.cluster, names)
    session.finish_command(capacity, output, inventory=hosts)
