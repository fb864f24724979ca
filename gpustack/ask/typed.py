"""Whether a value is of an annotated type, its parts included: a fact that is not is no fact.

Neither pydantic nor typeguard looks into the fields of a standard dataclass that exists already.
"""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


@cache
def hints(of: Any) -> dict[str, Any]:
    return get_type_hints(of)


def return_type(function: Any) -> Any:
    """Any where the function declares none."""
    return hints(function).get("return", Any)


def fits(value: Any, hint: Any) -> bool:
    """`True` is no int here. What a Collection or Mapping holds is looked at, too."""
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if kind in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if kind is Literal:
        return any(value == one and type(value) is type(one) for one in inner)
    if kind is not None:
        return isinstance(value, kind) and holds(value, kind, inner)
    if hint is None:
        return value is None
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        return False
    return not is_dataclass(hint) or fields_fit(value, hint)


def fields_fit(value: Any, hint: Any) -> bool:
    types = hints(hint)
    return all(fits(getattr(value, field.name), types[field.name]) for field in fields(hint))


def holds(value: Any, kind: Any, inner: tuple[Any, ...]) -> bool:
    if issubclass(kind, Mapping):
        return all(fits(key, inner[0]) and fits(entry, inner[1]) for key, entry in value.items())
    if issubclass(kind, tuple) and inner[1:] != (...,):
        return len(value) == len(inner) and all(map(fits, value, inner))
    return all(fits(part, inner[0]) for part in value)
