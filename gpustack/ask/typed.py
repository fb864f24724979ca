"""Whether a value is of an annotated type, its parts included: a fact that is not is no fact. Of a type it is worked
out once how to look: lists of a large cluster have hundreds of thousands of parts."""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

Test = Callable[[Any], bool]


@cache
def returned(function: Any) -> Any:
    """The type that a function says it returns; Any where it says nothing."""
    return get_type_hints(function).get("return", Any)


def fits(value: Any, hint: Any) -> bool:
    """`True` is no int here. What a Collection or Mapping holds is looked at, too."""
    return test(hint)(value)


@cache
def test(hint: Any) -> Test:
    kind, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return lambda value: True
    if kind in (Union, UnionType):
        ones = [test(one) for one in inner]
        return lambda value: any(one(value) for one in ones)
    if kind is Literal:
        return lambda value: any(value == one and type(value) is type(one) for one in inner)
    if kind is not None:
        within = held(kind, inner)
        return lambda value: isinstance(value, kind) and within(value)
    if is_dataclass(hint):
        assert isinstance(hint, type)
        return of_fields(hint)
    if hint is None:
        return lambda value: value is None
    if hint is int:
        return lambda value: isinstance(value, int) and not isinstance(value, bool)
    return lambda value: isinstance(value, hint)


def of_fields(hint: type) -> Test:
    hints = get_type_hints(hint)
    # Made when first needed: a dataclass may have parts of its own kind.
    parts = [(attrgetter(field.name), hints[field.name]) for field in fields(hint)]
    return lambda value: isinstance(value, hint) and all(test(of)(read(value)) for read, of in parts)


def held(kind: Any, inner: tuple[Any, ...]) -> Test:
    if issubclass(kind, Mapping):
        key, entry = test(inner[0]), test(inner[1])
        return lambda value: all(key(one) for one in value) and all(entry(one) for one in value.values())
    if issubclass(kind, tuple) and inner[1:] != (...,):
        each = [test(one) for one in inner]
        return lambda value: len(value) == len(each) and all(one(part) for one, part in zip(each, value, strict=True))
    every = test(inner[0])
    return lambda value: all(map(every, value))
