"""Parameters that stand for options: a dataclass for one option per field, which several commands share, and the
`Rendering` of a result for its option `-o`.

Typer has no groups of options, and reads the options of a command from its signature.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from typing import Annotated, Any

import typer

from gpustack.report.rendering import Rendering, build_choice


def expand_groups(function: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the fields in place of each dataclass, and with the formats of its result. A command with
    neither is returned as is."""
    signature = inspect.signature(function)
    originals = tuple(signature.parameters.values())
    groups: dict[str, Any] = {
        parameter.name: parameter.annotation for parameter in originals if is_dataclass(parameter.annotation)
    }
    parameters = [declared for original in originals for declared in expand_parameter(original)]
    if parameters == [*originals]:
        return function

    @wraps(function)
    def run_command(**arguments: Any) -> None:
        for name, group in groups.items():
            arguments[name] = group(**{field.name: arguments.pop(field.name) for field in fields(group)})
        function(**arguments)

    run_command.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in parameters]
    )
    run_command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run_command


def expand_parameter(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    if is_dataclass(parameter.annotation):
        for field in fields(parameter.annotation):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            yield from expand_parameter(parameter.replace(name=field.name, default=default, annotation=field.type))
        return
    for rendering in getattr(parameter.annotation, "__metadata__", ()):
        if isinstance(rendering, Rendering):
            choice = build_choice(rendering.formats)
            option = typer.Option("-o", "--output", help=rendering.format_help)
            parameter = parameter.replace(annotation=Annotated[choice, option], default=choice(parameter.default))
    yield parameter
