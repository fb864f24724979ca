"""Groups of options that several commands share. A parameter with a dataclass as its type declares an option per field.

Typer has no groups of options, and reads the options of a command from its signature.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any


def expand_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields in place of each dataclass. A command without a dataclass is returned as
    is."""
    signature = inspect.signature(function)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }
    if not groups:
        return function

    @wraps(function)
    def run_command(**arguments: Any) -> None:
        for name, group in groups.items():
            arguments[name] = group(**{field.name: arguments.pop(field.name) for field in fields(group)})
        function(**arguments)

    parameters = []
    for name, original in signature.parameters.items():
        if name in groups:
            parameters += list_options(groups[name])
        else:
            parameters.append(original.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    run_command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run_command.__annotations__ = {new_parameter.name: new_parameter.annotation for new_parameter in parameters}
    return run_command


def list_options(group: Any) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=field.type,
        )
        for field in fields(group)
    ]
