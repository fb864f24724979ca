"""`gpustack capacity report`."""

import typer

from gpustack.cli import options
from gpustack.cli.capacity.usage import ByOption, Period, dimensions, open_source
from gpustack.cli.gpu.prometheus import Source


def report(
    *,
    period: Period,
    by: ByOption = "namespace",
    inventory: options.InventoryOption = None,
    source: Source,
    output: options.ReportOutputOption = options.ReportOutput.HUMAN,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Report GPU-hours: allocated to pods, attributed, active and idle, free; with the queue, and what is so now.

    Each number is of another question, and docs/capacity.md names its series. Exits with 8 when less than 95 % of the
    time was recorded."""
    names = dimensions(by)
    with open_source(source, inventory, become=become, quiet=quiet) as (prometheus, hosts):
        from gpustack.capacity.now import see_now
        from gpustack.capacity.read import read_usage
        from gpustack.capacity.source import choose
        from gpustack.capacity.state import Capacity
        from gpustack.capacity.usage import group
        from gpustack.config.sections.usage import series_label

        spec = hosts.spec.capacity
        now = prometheus.now()
        chosen = choose(prometheus, period.window(now), series_label(spec.team_label), period.cluster)
        usage = read_usage(chosen, pool_label=spec.pool_label, renamed=spec.renamed)
        state = see_now(chosen)
    from gpustack.report.codes import capacity_code
    from gpustack.report.render import show

    found = Capacity(usage, names, group(usage, names), state)
    show(found, output.value, inventory=hosts)
    raise typer.Exit(capacity_code(found))
