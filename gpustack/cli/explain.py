"""`explain`: the manual pages."""

import sys
from typing import Annotated

import typer


def complete_name(incomplete: str) -> list[str]:
    from gpustack.report.explain.alerts import alerts
    from gpustack.report.explain.faults import faults, states
    from gpustack.report.explain.pages import checks, error_pages
    from gpustack.steps import STEPS

    known = [*(step.id for step in STEPS), *checks(), *error_pages(), *alerts(), *faults(), *states(), "metric", "xid"]
    return [name for name in known if name.startswith(incomplete)]


def complete_metric(context: typer.Context, incomplete: str) -> list[str]:
    """The name of a metric or the code of an Xid."""
    from gpustack.metrics.fields import fields
    from gpustack.metrics.xids import xids

    metric = context.params.get("name") == "metric"
    known = [field.name for field in fields()] if metric else [str(code) for code in xids()]
    return [word for word in known if word.startswith(incomplete.upper())]


def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A step, check (step/check), fault, alert or error; `metric` or `xid`.",
            autocompletion=complete_name,
        ),
    ] = None,
    which: Annotated[
        str, typer.Argument(metavar="METRIC|CODE", help="Which metric or Xid.", autocompletion=complete_metric)
    ] = "",
) -> None:
    """Print the page of a step, check, fault, alert, error, metric or Xid; without a name, list all pages."""
    from gpustack.report.explain import gpu

    if name in (gpu.METRIC, gpu.XID):
        sys.stdout.write(gpu.explain_metric(which) if name == gpu.METRIC else gpu.explain_xid(which))
    elif which:
        raise typer.BadParameter(f"only metric and xid are followed by a second word, not {name}")
    else:
        from gpustack.report.explain import pages  # with every step and fault

        sys.stdout.write(pages.explain(name) if name else pages.contents())
