"""Errors about the value of an option or argument, in the words that errors of the spec use."""

import re

from typer import BadParameter

BEFORE_CHOICES = " is not one of "
CHOICE = re.compile("'([^']*)'")


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
        known = CHOICE.findall(choices)
        suggestion = suggest_nearest([str(entry["input"])], known)
        return " ".join(filter(None, (f"{format_input(entry['input'])}; allowed: {', '.join(known)}.", suggestion)))
    return f"{format_input(entry['input'])}; allowed: {describe_kind(entry)}"
