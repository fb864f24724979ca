"""Whether a value is of an annotated type, its parts included: a fact that is not is no fact."""

from collections.abc import Collection, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


@cache
def returned(function: Any) -> Any:
    """The type that a function says it returns; Any where it says nothing."""
    return get_type_hints(function).get("return", Any)


@cache
def parts(kind: type) -> tuple[tuple[str, Any], ...]:
    """Fields and their types of a dataclass."""
    hints = get_type_hints(kind)
    return tuple((field.name, hints[field.name]) for field in fields(kind))


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
        return isinstance(value, kind) and holds(value, inner)
    if is_dataclass(hint):
        assert isinstance(hint, type)
        return isinstance(value, hint) and all(fits(getattr(value, name), of) for name, of in parts(hint))
    if hint is None:
        return value is None
    return isinstance(value, hint) and not (isinstance(value, bool) and hint is not bool)


def holds(value: Collection[Any], inner: tuple[Any, ...]) -> bool:
    if isinstance(value, Mapping):
        return all(fits(key, inner[0]) and fits(entry, inner[1]) for key, entry in value.items())
    if isinstance(value, tuple) and inner[1:] != (...,):
        return len(value) == len(inner) and all(map(fits, value, inner))
    return all(fits(entry, inner[0]) for entry in value)
