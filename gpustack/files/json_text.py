"""Write JSON that every program reads, and parse JSON that others wrote."""

import json
from typing import Any

from gpustack.files.document import DocumentError, LimitError, refuse_values


def dump_json(value: Any, **layout: Any) -> str:
    """Return the JSON of a value. Raise ValueError for a number that is not finite, which JSON has no word for.

    `layout` holds further arguments of `json.dumps`."""
    return json.dumps(value, allow_nan=False, **layout)


def parse_json(text: str | bytes) -> Any:
    """Return a document within the bounds of `document`. Raise DocumentError."""
    try:
        document = json.loads(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
    except json.JSONDecodeError as error:
        raise DocumentError(error.msg, error.lineno, error.colno) from error
    except RecursionError as error:
        raise LimitError("too many levels") from error
    except ValueError as error:
        raise DocumentError(str(error)) from error
    refuse_values(document)
    return document
