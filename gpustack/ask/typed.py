"""Whether a value is of an annotated type, its parts included: a fact that is not is no fact. Of a type it is worked
out once how to look: lists of a large cluster have hundreds of thousands of parts."""

from collections.abc import Callable, Iterator, Mapping
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
    looks: list[Test] = []

    def every(value: Any) -> bool:
        if not isinstance(value, hint):
            return False
        if not looks:
            # When first needed: a dataclass may have parts of its own kind.
            looks.extend(parts(hint))
        for fit in looks:  # noqa: SIM110 - all() of a generator takes twice as long
            if not fit(value):
                return False
        return True

    return every


def parts(hint: type) -> Iterator[Test]:
    """Of a dataclass. What the types of its parts settle is looked at for all of them at once, and once for the same
    types."""
    hints = [(field.name, get_type_hints(hint)[field.name]) for field in fields(hint)]
    settled = {name: test(of) for name, of in hints if by_type(of)}
    if settled:
        # The last one so that it is a tuple also of a single part.
        read = attrgetter(*settled, "__class__")
        fine: set[tuple[type, ...]] = set()

        def types(value: Any) -> bool:
            said = read(value)
            kinds = tuple(map(type, said))
            if kinds not in fine:
                if not all(fit(one) for fit, one in zip(settled.values(), said, strict=False)):
                    return False
                fine.add(kinds)
            return True

        yield types
    yield from (of_part(attrgetter(name), test(of)) for name, of in hints if name not in settled)


def of_part(read: Callable[[Any], Any], fit: Test) -> Test:
    return lambda value: fit(read(value))


def by_type(hint: Any) -> bool:
    if get_origin(hint) in (Union, UnionType):
        return all(by_type(one) for one in get_args(hint))
    return hint in (Any, None) or (isinstance(hint, type) and get_origin(hint) is None and not is_dataclass(hint))


def held(kind: Any, inner: tuple[Any, ...]) -> Test:
    if issubclass(kind, Mapping):
        key, entry = test(inner[0]), test(inner[1])
        return lambda value: all(key(one) for one in value) and all(entry(one) for one in value.values())
    if issubclass(kind, tuple) and inner[1:] != (...,):
        each = [test(one) for one in inner]
        return lambda value: len(value) == len(each) and all(one(part) for one, part in zip(each, value, strict=True))
    every = test(inner[0])
    return lambda value: all(map(every, value))
