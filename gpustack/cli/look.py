"""`explain`, `snapshot` and `version`: commands that read."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from gpustack.cli import options


def names(incomplete: str) -> list[str]:
    from gpustack.report.alert_pages import alerts
    from gpustack.report.fault_pages import faults, states
    from gpustack.report.pages import checks, error_pages
    from gpustack.steps import STEPS

    known = [*(step.id for step in STEPS), *checks(), *error_pages(), *alerts(), *faults(), *states()]
    return [name for name in known if name.startswith(incomplete)]


def explain(
    name: Annotated[
        str | None,
        typer.Argument(
            help="A step, a check (step/check), a fault, an alert, the reference of an error.", autocompletion=names
        ),
    ] = None,
) -> None:
    """Print the page of a step, check, fault, alert or error; without a name, list all pages."""
    from gpustack.report import pages

    sys.stdout.write(pages.explain(name) if name else pages.contents())


def snapshot(
    inventory: options.InventoryOption = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where to write it; `-` is stdout. Default: a new file here.")
    ] = None,
    become: options.BecomeOption = False,
    quiet: options.QuietOption = False,
) -> None:
    """Record what the hosts answer, without secrets: for `--from` of other commands, and for whoever helps you."""
    from gpustack.ask.recording import lines, write
    from gpustack.cli import wiring
    from gpustack.doctor.diagnose import questions

    report = wiring.progress(quiet=quiet)
    taken = wiring.asked(wiring.opened(inventory, ask_password=become, quiet=quiet), report, questions())
    if out == Path("-"):
        sys.stdout.writelines(lines(taken))
        return
    path = out or Path(named(taken.inventory.spec.cluster_name, taken.taken))
    write(taken, path)
    sys.stdout.write(f"{path}\n")


def named(cluster: str, taken: datetime) -> str:
    return f"{cluster}-{taken:%Y%m%dT%H%M%S}.jsonl"


def version() -> None:
    """Print the version of gpustack, and of what it installs."""
    from importlib.metadata import version as of

    from gpustack.config.versions import KNOWN_SETS, version_set

    chosen = version_set(KNOWN_SETS[-1])
    told = ", ".join(f"{name} {chosen.components[name]}" for name in ("kubernetes", "containerd", "flannel"))
    sys.stdout.write(f"gpustack {of('gpustack-cluster')} (version set {chosen.name}: {told})\n")
