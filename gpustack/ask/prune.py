"""Keeps the named fields of an API answer and drops the rest before anything is recorded."""

import re
from collections.abc import Sequence
from typing import Any

from gpustack.files.document import LimitError
from gpustack.files.json_text import dump_json, load_json

DOT = re.compile(r"(?<!\\)\.")


def prune(text: str, keep: Sequence[str]) -> str:
    r"""Of a list, the fields are those of its items; a dot within a key is written `\.`, as for kubectl. Text that is
    not JSON, or is nested beyond all reason, is returned as it is: the parser says so. Nothing is kept of JSON with a
    number that is out of bounds."""
    paths = [[part.replace("\\.", ".") for part in DOT.split(path)] for path in keep]
    try:
        data = load_json(text)
        if isinstance(data, dict) and isinstance(data.get("items", ""), list | None):
            # Of metadata alone, a list of nothing is null.
            return dump_json({"items": [pick(entry, paths) for entry in data["items"] or ()]}, separators=(",", ":"))
        return dump_json(pick(data, paths), separators=(",", ":"))
    except LimitError:
        return ""
    except (ValueError, RecursionError):
        return text


def pick(value: Any, paths: Sequence[Sequence[str]]) -> Any:
    if any(not path for path in paths):
        return value
    if isinstance(value, list):
        return [pick(entry, paths) for entry in value]
    if not isinstance(value, dict):
        return value
    heads = dict.fromkeys(path[0] for path in paths)
    return {head: pick(value[head], [path[1:] for path in paths if path[0] == head]) for head in heads if head in value}
