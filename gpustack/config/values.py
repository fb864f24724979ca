"""Values of Helm releases: ours < what follows from the spec < the operator's, merged as Helm merges."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from gpustack.config.shipped import values


def merged(*parts: Mapping[str, Any]) -> dict[str, Any]:
    """The later part counts more: mappings are merged, lists and all else replaced, null takes a key away."""
    whole: dict[str, Any] = {}
    for part in parts:
        whole = over(whole, part)
    return whole


def over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for key, value in above.items():
        there = result.get(key)
        result[key] = over(there, value) if isinstance(there, Mapping) and isinstance(value, Mapping) else value
    return result


@cache
def ours(release: str) -> Mapping[str, Any]:
    """The values of `values/<release>.yaml` that gpustack ships."""
    import yaml

    found: dict[str, Any] = yaml.safe_load((values() / f"{release}.yaml").read_text()) or {}
    return found
