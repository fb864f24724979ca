"""`explain`: the manual pages."""

import sys
from typing import Annotated

import typer


def complete_name(incomplete: str) -> list[str]:
    from gpustack.report.explain.alerts import alerts
    from gpustack.report.explain.faults import faults, states
    from gpustack.report.explain.pages import checks, error_pages
    from gpustack.steps import STEPS

    known = [*(step.id for step in STEPS), *checks(), *error_pages(), *alerts(), *faults(), *states()]
    return [name for name in known if name.startswith(incomplete)]


def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="A step, check (step/check), fault, alert or error.", autocompletion=complete_name
        ),
    ] = None,
) -> None:
    """Print the page of a step, check, fault, alert or error; without a name, list all pages."""
    from gpustack.report.explain import pages

    sys.stdout.write(pages.explain(name) if name else pages.contents())
