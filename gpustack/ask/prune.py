"""Pruning of an API answer to the named fields before anything is recorded."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from gpustack.ask.api_list import read_items
from gpustack.files.document import LimitError
from gpustack.files.json_text import dump_json, load_json

DOT = re.compile(r"(?<!\\)\.")


def prune(text: str, fields: Sequence[str]) -> str:
    r"""Keep the named fields of an object, or of each item of a list. A dot within a key is written `\.`, as for
    kubectl.

    A text that is not JSON, or is nested too deep, is returned as it is, and the parser reports it. JSON with a number
    out of bounds is replaced by an empty text.
    """
    paths = [[part.replace("\\.", ".") for part in DOT.split(path)] for path in fields]
    try:
        document = load_json(text)
        if isinstance(document, dict) and isinstance(document.get("items", ""), list | None):
            items = [pick_fields(entry, paths) for entry in read_items(document)]
            return dump_json({"items": items}, separators=(",", ":"))
        return dump_json(pick_fields(document, paths), separators=(",", ":"))
    except LimitError:
        return ""
    except (ValueError, RecursionError):
        return text


def keep_items(text: str, is_kept: Callable[[Any], object]) -> str:
    """Keep the objects of a list that something is asked about: of all others nothing is recorded."""
    items = [entry for entry in read_items(load_json(text)) if is_kept(entry)]
    return dump_json({"items": items}, separators=(",", ":"))


def pick_fields(document: Any, paths: Sequence[Sequence[str]]) -> Any:
    if any(not path for path in paths):
        return document
    if isinstance(document, list):
        return [pick_fields(entry, paths) for entry in document]
    if not isinstance(document, dict):
        return document
    heads = dict.fromkeys(path[0] for path in paths)
    return {
        head: pick_fields(document[head], [path[1:] for path in paths if path[0] == head])
        for head in heads
        if head in document
    }
