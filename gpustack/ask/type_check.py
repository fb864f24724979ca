"""Checks that a value is of an annotated type, its parts included: a fact that is not is unavailable.

Neither pydantic nor typeguard checks the fields of a standard dataclass that exists already.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


@cache
def resolve_hints(owner: Any) -> dict[str, Any]:
    return get_type_hints(owner)


def resolve_return_type(function: Any) -> Any:
    """Return the annotated return type of a function, or Any where it has none."""
    return resolve_hints(function).get("return", Any)


def fits(value: Any, hint: Any) -> bool:
    """Tell whether a value is of a type, with the elements of a Collection or Mapping. `True` is not an int."""
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind in (Union, UnionType):
        return any(fits(value, option) for option in inner)
    if kind is Literal:
        return any(value == literal and type(value) is type(literal) for literal in inner)
    if kind is not None:
        return isinstance(value, kind) and has_fitting_elements(value, kind, inner)
    if hint is None:
        return value is None
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        return False
    return not is_dataclass(hint) or has_fitting_fields(value, hint)


def has_fitting_fields(value: Any, hint: Any) -> bool:
    types = resolve_hints(hint)
    return all(fits(getattr(value, field.name), types[field.name]) for field in fields(hint))


def has_fitting_elements(value: Any, kind: Any, inner: tuple[Any, ...]) -> bool:
    """Tell whether each element of a mapping, tuple or collection is of the type that the annotation has for it."""
    if issubclass(kind, Mapping):
        return all(fits(key, inner[0]) and fits(entry, inner[1]) for key, entry in value.items())
    if issubclass(kind, tuple) and inner[1:] != (...,):
        return len(value) == len(inner) and all(map(fits, value, inner))
    return all(fits(part, inner[0]) for part in value)
