"""Write JSON that every program reads, and parse JSON that others wrote."""

import json
from typing import Any

from gpustack.files.document import DocumentError, LimitError, refuse_value, refuse_values

DIGITS = 20
"""The most characters of a whole number of 64 bits, with its sign."""


def dump_json(value: Any, **layout: Any) -> str:
    """Return the JSON of a value. Raise ValueError for a number that is not finite, which JSON has no word for.

    `layout` holds further arguments of `json.dumps`."""
    return json.dumps(value, allow_nan=False, **layout)


def load_json(text: str | bytes) -> Any:
    """Return a document of any size, whose numbers are finite and have at most 64 bits.

    Raise LimitError for another number, ValueError for what is not JSON, and RecursionError for too many levels."""
    return json.loads(text, parse_int=parse_int, parse_float=parse_float, parse_constant=refuse_constant)


def parse_int(text: str) -> int:
    if len(text) > DIGITS:
        raise LimitError("a number of more than 64 bits")
    value = int(text)
    refuse_value(value)
    return value


def parse_float(text: str) -> float:
    value = float(text)
    refuse_value(value)
    return value


def refuse_constant(text: str) -> None:
    raise LimitError(f"the number {text}, which is not finite")


def parse_json(text: str | bytes) -> Any:
    """Return a document within the bounds of `document`. Raise DocumentError."""
    try:
        document = load_json(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
    except json.JSONDecodeError as error:
        raise DocumentError(error.msg, error.lineno, error.colno) from error
    except RecursionError as error:
        raise LimitError("too many levels") from error
    except DocumentError:
        raise
    except ValueError as error:
        raise DocumentError(str(error)) from error
    refuse_values(document)
    return document
