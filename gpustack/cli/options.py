"""Options that several commands share."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from gpustack import times

UNITS = {"": "", "1h": " in whole hours", "1d": " in whole days"}


def parse_duration(text: str) -> float:
    """Parse a duration, as `90`, `15m` or `1h30m`, to seconds. Raise BadParameter for other texts."""
    duration = text.strip()
    try:
        seconds = times.parse_duration(f"{duration}s" if duration[-1:].isdecimal() else duration)
    except ValueError:
        seconds = 0.0
    if not seconds:
        raise typer.BadParameter(f"{text!r}; allowed: times such as 90, 15m or 1h30m")
    return seconds


def require_time(minimum: str, maximum: str, unit: str = "") -> Callable[[str], str]:
    """Return the callback of an option that takes a duration within these limits, of whole units if one is named. An
    empty text is the default of an option that may be left out."""

    def check(text: str) -> str:
        refusal = typer.BadParameter(f"{text!r}; allowed: {minimum} to {maximum}{UNITS[unit]}")
        try:
            seconds = parse_duration(text) if text else parse_duration(minimum)
        except typer.BadParameter:
            raise refusal from None
        if not parse_duration(minimum) <= seconds <= parse_duration(maximum) or (
            unit and seconds % parse_duration(unit)
        ):
            raise refusal
        return text

    return check


def build_time_option(name: str, minimum: str, maximum: str, unit: str = "", *, text: str) -> Any:
    """Build an option that takes a duration, as `require_time` does."""
    return typer.Option(name, metavar="TIME", help=text, callback=require_time(minimum, maximum, unit))


def refuse_value(option: str, value: str, values: str) -> typer.BadParameter:
    """Return the error about a value that an option does not take."""
    return typer.BadParameter(f"{value!r}; allowed: {values}", param_hint=repr(option))


def refuse_names(option: str, wrong: Sequence[str], known_names: Sequence[str]) -> typer.BadParameter:
    """Return the error about names that an option does not take, with the nearest that it takes."""
    from gpustack.config.complaint import suggest_nearest

    text = f"{', '.join(wrong)!r}; allowed: {', '.join(known_names)}"
    text = "\n".join(filter(None, (text, suggest_nearest(wrong, known_names))))
    return typer.BadParameter(text, param_hint=repr(option))


def complete_step(incomplete: str) -> list[str]:
    from gpustack.steps import STEPS

    return [step.id for step in STEPS if step.id.startswith(incomplete)]


def complete_last_part(incomplete: str, names: Sequence[str]) -> list[str]:
    """List the completions of a comma-separated text by names that it does not have."""
    prefix, comma, part = incomplete.rpartition(",")
    used_names = prefix.split(",")
    return [f"{prefix}{comma}{name}" for name in names if name.startswith(part) and name not in used_names]


def complete_field(incomplete: str) -> list[str]:
    """List the names of DCGM's fields, without their prefixes, that begin with a text in any case."""
    from gpustack.vocabulary.fields import index_fields

    return [name for name in index_fields() if name.startswith(incomplete.upper()) and not name.isdecimal()]


InventoryOption = Annotated[
    Path | None,
    typer.Option(
        "-i",
        "--inventory",
        help="Inventory file or directory, or `lab` for the running lab. Default: GPUSTACK_INVENTORY, ansible.cfg, "
        "else this host.",
    ),
]
QuietOption = Annotated[bool, typer.Option("-q", "--quiet", help="Print only the result and errors, without progress.")]
CordonedOption = Annotated[
    bool,
    typer.Option("--cordoned", help="Include cordoned nodes, as before they return to service."),
]
VerboseOption = Annotated[
    bool, typer.Option("-v", "--verbose", help="Show the evidence of each result: its command and its output.")
]
BecomeOption = Annotated[bool, typer.Option("-K", "--ask-become-pass", help="Prompt for the sudo password.")]
LimitOption = Annotated[
    list[str] | None,
    typer.Option("--limit", metavar="HOST", help="Limit the run to these hosts (repeatable, or comma-separated)."),
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--only",
        metavar="STEP",
        help="Limit the run to these steps (repeatable, or comma-separated).",
        autocompletion=complete_step,
    ),
]
FromOption = Annotated[
    Path | None,
    typer.Option("--from", metavar="FILE", help="Read this recording of `gpustack snapshot` instead of the hosts."),
]
ThisHostOption = Annotated[
    bool, typer.Option("--this-host", help="Change this host without a prompt for its name; only without an inventory.")
]
WithoutLockOption = Annotated[
    list[str] | None,
    typer.Option(
        "--without-lock",
        metavar="HOST",
        help="Continue without the lock of this unreachable control plane (repeatable, or comma-separated).",
    ),
]
YesOption = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask for confirmation.")]
