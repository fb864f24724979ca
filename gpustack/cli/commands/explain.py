"""The command `gpustack explain`, which prints the manual pages."""

import sys
from typing import Annotated

import typer

from gpustack.cli import options
from gpustack.cli.help import declare_command
from gpustack.cli.root import DIAGNOSE, ROOT


def complete_name(incomplete: str) -> list[str]:
    from gpustack.report.explain.alerts import read_alerts
    from gpustack.report.explain.faults import list_faults, list_states
    from gpustack.report.explain.pages import list_checks, read_error_pages
    from gpustack.steps import STEPS

    names = [
        *(step.id for step in STEPS),
        *list_checks(),
        *read_error_pages(),
        *(name for key, alert in read_alerts().items() for name in (key, alert.name)),
        *list_faults(),
        *list_states(),
        "metric",
        "xid",
    ]
    return [name for name in names if name.startswith(incomplete)]


def complete_metric(context: typer.Context, incomplete: str) -> list[str]:
    """List the names of metrics or the codes of Xids that begin with a text, for shell completion."""
    from gpustack.vocabulary.doctor_metrics import DOCTOR_METRICS
    from gpustack.vocabulary.xids import load_xids

    if context.params.get("name") == "metric":
        own_metrics = [name for name in DOCTOR_METRICS if incomplete and name.startswith(incomplete)]
        return [*options.complete_field(incomplete), *own_metrics]
    return [code for code in map(str, load_xids()) if code.startswith(incomplete)]


@declare_command(
    ROOT,
    "gpustack explain                       # list all pages",
    "gpustack explain prereqs/swap-off      # a check",
    "gpustack explain GpuLost               # an alert",
    "gpustack explain metric SM_ACTIVE      # a metric of DCGM, by any of its names",
    "gpustack explain xid 79                # an error code of NVIDIA's driver",
    heading=DIAGNOSE,
    short="Explain a step, check, fault, alert, metric or error.",
)
def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Name of a step, check (step/check), fault, alert or error, or the word `metric` or `xid`.",
            autocompletion=complete_name,
        ),
    ] = None,
    entry: Annotated[
        str,
        typer.Argument(
            metavar="METRIC|CODE", help="Name of a metric, or code of an Xid.", autocompletion=complete_metric
        ),
    ] = "",
) -> None:
    """Print the page of a step, check, fault, alert, error, metric or Xid. Without NAME, list all pages."""
    from gpustack.report.explain import gpu

    if name in (gpu.METRIC, gpu.XID):
        sys.stdout.write(gpu.explain_metric(entry) if name == gpu.METRIC else gpu.explain_xid(entry))
    elif entry:
        raise typer.BadParameter(f"only metric and xid are followed by a second word, not {name}")
    else:
        from gpustack.report.explain import pages  # It imports every step and fault.

        sys.stdout.write(pages.explain_topic(name) if name else pages.render_contents())
