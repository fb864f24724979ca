"""The bounds of a document, JSON or YAML, that others wrote."""

from collections.abc import Iterator
from datetime import date
from math import isfinite
from typing import Any

DEPTH_LIMIT = 100
"""Levels of mappings and lists: functions that walk a document call themselves once for each."""
VALUE_LIMIT = 1_000_000
"""Values of a document."""
ALIAS_LIMIT = 50_000
"""Values that the aliases of a YAML document stand for."""
YAML_TEXT_LIMIT = 4 * 2**20
"""Characters of a YAML text: about ten seconds."""
WIDEST = 2**64
PLAIN = (str, int, float, type(None), date)  # bool is an int, datetime a date
# What the constructors of YAML and JSON raise for a word that only looks like a number, a date or a truth value.
UNREADABLE = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError)


class DocumentError(ValueError):
    """Report a text that is no document, or one that is out of bounds. `line` and `column` count from 1; 0 is
    unknown."""

    def __init__(self, reason: str, line: int = 0, column: int = 0) -> None:
        super().__init__(f"{reason} (line {line}, column {column})" if line else reason)
        self.reason, self.line, self.column = reason, line, column


class LimitError(DocumentError):
    """Report a document that is out of bounds."""


def refuse_values(document: Any) -> None:
    """Raise LimitError for a document that is too deep or too large, or has a value that JSON cannot carry.

    Such a value is a number that is not finite or has more than 64 bits, a text that is not Unicode, a set, bytes."""
    stack, count = [(document, 1)], 0
    while stack:
        value, depth = stack.pop()
        count += 1
        if depth > DEPTH_LIMIT:
            raise LimitError(f"more than {DEPTH_LIMIT} levels")
        if count > VALUE_LIMIT:
            raise LimitError(f"more than {VALUE_LIMIT} values")
        if isinstance(value, (dict, list)):
            stack += ((inner, depth + 1) for inner in list_children(value))
        else:
            refuse_value(value)


def list_children(value: dict[Any, Any] | list[Any]) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value
        yield from value.values()
    else:
        yield from value


def refuse_value(value: Any) -> None:
    """Raise LimitError for a value that JSON cannot carry."""
    if not isinstance(value, PLAIN):
        raise LimitError(f"a value of the type {type(value).__name__}")
    if isinstance(value, str):
        if not value.isascii():
            refuse_surrogates(value)
    elif isinstance(value, float) and not isfinite(value):
        raise LimitError(f"the number {value}, which is not finite")
    elif isinstance(value, int) and abs(value) >= WIDEST:
        raise LimitError("a number of more than 64 bits")


def refuse_surrogates(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise LimitError(f"a text with U+{code:04X}, which is not a character") from None
