"""The command `gpustack explain`, which prints the manual pages."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from gpustack.cli import options
from gpustack.cli.help import declare_command
from gpustack.cli.root import DIAGNOSE, ROOT


class Kind(StrEnum):
    """List the kinds of pages of gpustack/report/explain/contents.py, which is imported later."""

    STEPS = "steps"
    CHECKS = "checks"
    ALERTS = "alerts"
    FAULTS = "faults"
    STATES = "states"
    CLASSES = "classes"
    ERRORS = "errors"
    SCRIPTS = "scripts"
    SETTINGS = "settings"
    DOCUMENTS = "documents"
    METRICS = "metrics"
    XIDS = "xids"
    PROBES = "probes"


def complete_name(incomplete: str) -> list[str]:
    from gpustack.report.explain.alerts import read_alerts
    from gpustack.report.explain.classes import list_classes
    from gpustack.report.explain.documents import list_documents
    from gpustack.report.explain.faults import list_faults, list_states
    from gpustack.report.explain.pages import list_checks, read_error_pages
    from gpustack.report.explain.probes import list_probe_commands
    from gpustack.report.explain.settings import read_settings
    from gpustack.steps import STEPS

    names = [
        *(step.id for step in STEPS),
        *list_checks(),
        *read_error_pages(),
        *(name for key, alert in read_alerts().items() for name in (key, alert.name)),
        *list_faults(),
        *list_states(),
        *list_classes(),
        *read_settings(),
        *list_documents(),
        *list_probe_commands(),
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
    "gpustack explain gpu driver            # list the pages with these words",
    "gpustack explain ErrImagePull          # the faults with this word or message",
    "gpustack explain doctor                # a command",
    "gpustack explain docs/limits.md        # a document",
    "gpustack explain --list checks         # list the pages of one kind",
    heading=DIAGNOSE,
    short="Explain a step, check, fault, alert, metric or error.",
)
def explain(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Name of a step, check (step/check), fault, class of `profile analyze`, alert, error, setting, probe "
            "of `snapshot --list` or document, or `metric` or `xid`.",
            autocompletion=complete_name,
        ),
    ] = None,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="METRIC|CODE|WORD",
            help="Name of a metric, code of an Xid, or further words to look for.",
            autocompletion=complete_metric,
        ),
    ] = None,
    kind: Annotated[
        Kind | None, typer.Option("--list", metavar="KIND", help=f"List the pages of this kind: {', '.join(Kind)}.")
    ] = None,
) -> None:
    """Print the page of a step, check, fault, class, alert, error, setting, command, metric, Xid, probe or document.

    Other words list all pages that have them in their name or title, or else in a message, and the documents that have
    them in a line. Where none has all of several words, the nearest pages are listed. An error message, in quotes,
    lists the faults that cause it.
    Without NAME, all pages are listed."""
    from gpustack.report.explain import gpu

    if kind and name:
        raise typer.BadParameter("--list and NAME are mutually exclusive")
    entry = " ".join(words or ())
    if name in (gpu.METRIC, gpu.XID):
        sys.stdout.write(gpu.explain_metric(entry) if name == gpu.METRIC else gpu.explain_xid(entry))
        return
    from gpustack.report.explain import contents  # It imports every step and fault.

    topic = (name or "", *(words or ()))
    if kind:
        sys.stdout.write(contents.render_list(kind))
    elif help_text := find_help(context, topic):
        sys.stdout.write(f"{help_text}\n")
    else:
        sys.stdout.write(contents.explain_topic(*topic) if name else contents.render_contents())


def find_help(context: Any, words: Sequence[str]) -> str:
    """Find the help of a command by its words. Return an empty string where there is none, or a page has that name."""
    from gpustack.report.explain.pages import find_page

    context = context.find_root()
    for word in words:
        command = getattr(context.command, "commands", {}).get(word)
        if command is None:
            return ""
        context = command.context_class(command, info_name=word, parent=context, **command.context_settings)
    return "" if find_page(" ".join(words)) else context.command.get_help(context)
