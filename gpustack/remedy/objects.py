"""Objects of the cluster before a fix and after it: which it changed, and what puts them back. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpustack.errors import RolloutError

Object = Mapping[str, Any]
Name = tuple[str, str, str]
"""kind, namespace (empty for the cluster's own), name"""
# The API server's own words, which change with every write.
METADATA = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink")
REVISION = "deployment.kubernetes.io/revision"


@dataclass(frozen=True)
class Changed:
    """An object that a fix changed. `before` is None for one that was not there, `left` for one that is gone; `moved`:
    it is another now than the fix left it."""

    name: Name
    before: Object | None
    left: Object | None
    moved: bool = False

    def __str__(self) -> str:
        kind, namespace, name = self.name
        return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"


def changed(documents: Iterable[str]) -> tuple[Changed, ...]:
    """Of lists as `kubectl get -o json` prints them: before, as the fix left it, and now. What another object owns is
    made anew by that one. Raises RolloutError for anything else."""
    try:
        before, left, now = (named(json.loads(text)["items"]) for text in documents)
    except (ValueError, KeyError, TypeError) as error:
        raise RolloutError("fix-copies", "The copies of the cluster's objects cannot be read.", str(error)) from error
    names = [name for name in {**before, **left} if before.get(name) != left.get(name)]
    return tuple(Changed(name, before.get(name), left.get(name), left.get(name) != now.get(name)) for name in names)


def named(items: Iterable[Any]) -> dict[Name, Object]:
    found = {}
    for item in items:
        metadata = item["metadata"]
        if not metadata.get("ownerReferences"):
            found[item["kind"], metadata.get("namespace", ""), metadata["name"]] = plain(item)
    return found


def plain(item: Mapping[str, Any]) -> Object:
    """Without what nobody asked for."""
    metadata = {key: value for key, value in item["metadata"].items() if key not in METADATA}
    if notes := {key: value for key, value in metadata.pop("annotations", {}).items() if key != REVISION}:
        metadata["annotations"] = notes
    return {**{key: value for key, value in item.items() if key != "status"}, "metadata": metadata}


def replacements(found: Sequence[Changed]) -> Mapping[str, str]:
    """What kubectl is to replace, create and delete, as JSON; empty for nothing."""
    return {
        "REPLACE": listed(one.before for one in found if one.before and one.left),
        "CREATE": listed(one.before for one in found if one.before and not one.left),
        "DELETE": listed(one.left for one in found if one.left and not one.before),
    }


def listed(items: Iterable[Object | None]) -> str:
    found = list(items)
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": found}) if found else ""
