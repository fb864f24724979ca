"""Errors about the value of an option or argument, in the words that errors of the spec use."""

import re
import shlex
from pathlib import Path

from typer import BadParameter

BEFORE_CHOICES = " is not one of "
BEFORE_LIST = ". Choose from:"
SURPLUS = re.compile(r"Got unexpected extra argument\(s\) \((.*)\)", re.DOTALL)
CHOICE = re.compile("'([^']*)'")


def list_choices(message: str) -> str:
    """List the choices of a missing argument in one line, as those of a wrong one are."""
    missing, has_choices, choices = message.partition(BEFORE_LIST)
    return f"{missing}; allowed: {', '.join(word.strip() for word in choices.split(','))}" if has_choices else message


def describe_surplus(message: str, *, lacks_inventory: bool) -> str:
    """Describe words behind a command that takes no such ones: often an inventory without its option."""
    match = SURPLUS.fullmatch(message)
    if not match:
        return message
    is_inventory = lacks_inventory and Path(match[1]).exists()
    return f"No such argument: {match[1]}." + (f" Did you mean -i {shlex.quote(match[1])}?" if is_inventory else "")


def describe_bad_value(error: BadParameter) -> str:
    """Describe the value and what is allowed. Typer converts values with pydantic, whose texts speak of inputs."""
    errors = getattr(error.__cause__, "errors", None)
    if errors is None:
        return error.message
    from gpustack.config.complaint import suggest_nearest
    from gpustack.config.pydantic_errors import describe_kind, format_input

    entry = errors()[0]
    _, is_choice, choices = entry["msg"].rpartition(BEFORE_CHOICES)
    if is_choice:
        names = CHOICE.findall(choices)
        suggestion = suggest_nearest([str(entry["input"])], names)
        return " ".join(filter(None, (f"{format_input(entry['input'])}; allowed: {', '.join(names)}.", suggestion)))
    return f"{format_input(entry['input'])}; allowed: {describe_kind(entry)}"
