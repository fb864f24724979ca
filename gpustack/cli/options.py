"""Options that several commands share, each declared once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpustack.errors import UsageError


class Output(StrEnum):
    HUMAN = "human"
    JSON = "json"
    JUNIT = "junit"


class DoctorOutput(StrEnum):
    HUMAN = "human"
    JSON = "json"
    JUNIT = "junit"
    HTML = "html"


def step_ids(incomplete: str) -> list[str]:
    from gpustack.steps import STEPS

    return [step.id for step in STEPS if step.id.startswith(incomplete)]


def inventory_named(said: str | None) -> Path | None:
    """Raises UsageError for an empty text: as a path it would be the current folder."""
    if said is None or said.strip():
        return Path(said) if said else None
    why = "A variable that got lost leaves it so, and nobody would have named the hosts."
    raise UsageError("inventory-empty", "-i is empty; nothing was asked or changed.", why, "-i INVENTORY")


InventoryOption = Annotated[
    Path | None,
    typer.Option(
        "-i",
        "--inventory",
        path_type=str,  # an empty one and `.` are the same Path
        callback=inventory_named,
        help="File or folder; `lab`: the running lab. Default: GPUSTACK_INVENTORY, ansible.cfg, else this host.",
    ),
]
OutputOption = Annotated[Output, typer.Option("-o", "--output", help="How the result is written to stdout.")]
DoctorOutputOption = Annotated[
    DoctorOutput,
    typer.Option("-o", "--output", help="How the result is written to stdout; `html` is one file for a ticket."),
]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="No progress; only the result and errors.")]
VerboseOption = Annotated[
    bool, typer.Option("-v", "--verbose", help="Show what each judgement rests on: command and answer.")
]
BecomeOption = Annotated[bool, typer.Option("-K", "--ask-become-pass", help="Ask for the sudo password.")]
LimitOption = Annotated[
    list[str] | None, typer.Option("--limit", help="Only these hosts (repeat, or separate by commas).")
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option("--only", help="Only these steps (repeat, or separate by commas).", autocompletion=step_ids),
]
FromOption = Annotated[
    Path | None, typer.Option("--from", help="Judge a recording made by `gpustack snapshot` instead of asking hosts.")
]
ThisHostOption = Annotated[
    bool, typer.Option("--this-host", help="Without an inventory: change this host, without asking for its name.")
]
YesOption = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask before changing hosts.")]
