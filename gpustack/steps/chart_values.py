"""The values of a Helm release: gpustack's own, then computed ones, then those of the operator.

They are merged as Helm merges several `--values`: maps key by key, everything else is replaced, and null stays, because
to Helm it means that the chart's own default is to be removed.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from gpustack.config.resources import locate_shipped_values
from gpustack.config.values import ENDING, parse_values
from gpustack.files.read import read_text


def merge_values(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge layers, of which later ones win. The layers are left as they are, and the result shares their innermost
    values."""
    result: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            lower_value = result.get(key)
            are_mappings = isinstance(lower_value, Mapping) and isinstance(value, Mapping)
            result[key] = merge_values(lower_value, value) if are_mappings else value  # type: ignore[arg-type]
    return result


@cache
def read_own_values(release: str) -> Mapping[str, Any]:
    """Read the values that gpustack ships. Raise FileNotFoundError where it ships none."""
    values: dict[str, Any] = parse_values(read_text(locate_shipped_values() / f"{release}{ENDING}"))
    return values
