"""Options that several commands have together: a parameter of a dataclass stands for an option of each of its fields.

Typer has no groups of options, and makes a command's of its signature.
"""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Any


def spread(function: Callable[..., None]) -> Callable[..., None]:
    """The same command, with the fields in place of each dataclass; itself where it has none."""
    signature = inspect.signature(function)
    groups: dict[str, Any] = {
        name: one.annotation for name, one in signature.parameters.items() if is_dataclass(one.annotation)
    }
    if not groups:
        return function

    @wraps(function)
    def command(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{field.name: given.pop(field.name) for field in fields(group)})
        function(**given)

    found = []
    for name, one in signature.parameters.items():
        if name in groups:
            found += options_of(groups[name])
        else:
            found.append(one.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    command.__signature__ = signature.replace(parameters=found)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in found}
    return command


def options_of(group: Any) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=field.type,
        )
        for field in fields(group)
    ]
