"""Rolls back the last fix: what it changed is as before. Refused where it was changed since.

Objects of the cluster are compared before the fix, after it and now: which it changed, and what puts them back.
"""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpustack.errors import RolloutError
from gpustack.events import Event, Reporter
from gpustack.remedy.copies import Copies, Kept

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


@dataclass(frozen=True)
class Last:
    """The newest fix there is on these hosts, and what it changed there. `objects` are those of the cluster."""

    kept: tuple[Kept, ...]
    objects: tuple[Changed, ...] = ()

    @property
    def id(self) -> str:
        return self.kept[0].id

    @property
    def fault(self) -> str:
        return self.kept[0].fault

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(one.host for one in self.kept)


@dataclass(frozen=True)
class Undone:
    """`did` is what was put back, in words, each with its host."""

    last: Last
    did: tuple[str, ...]
    seconds: float


def find_last(copies: Copies, reached: Sequence[str]) -> Last:
    """Raises RolloutError: there is none; a host of it cannot be asked; something of it was changed since."""
    found = [one for name in reached if (one := copies.last(name))]
    if not found:
        why = "No host that was reached keeps the copies of one."
        raise RolloutError("undo-nothing", "There is no fix to roll back.", why, "")
    newest = max(one.id for one in found)
    kept = tuple(one for one in found if one.id == newest)
    if away := sorted({name for one in kept for name in one.hosts} - {one.host for one in kept}):
        why = f"It also changed {', '.join(away)}, which cannot be reached or has no backups any more."
        raise RolloutError(
            "undo-host-missing",
            f"The fix of {kept[0].fault} is on more hosts.",
            why,
            "gpustack explain undo-host-missing",
        )
    objects = find_changes(documents) if (documents := copies.objects(kept[0].host, newest)) else ()
    moved = [f"{one.host}: /{path}" for one in kept for path in one.moved]
    if moved := [*moved, *(str(one) for one in objects if one.moved)]:
        message = f"What the fix of {kept[0].fault} left was changed since; nothing was restored."
        raise RolloutError("undo-changed-since", message, "\n".join(moved), "gpustack explain undo-changed-since")
    return Last(kept, objects)


def put_back(copies: Copies, id: str, hosts: Sequence[str]) -> list[str]:
    """Of the cluster first: what goes back on a host may take the API with it. Then there are no copies any more."""
    did = []
    for name in hosts:
        if documents := copies.objects(name, id):
            found = find_changes(documents)
            copies.replace(name, build_replacements(found))
            did += [f"{name}: restored {one}" for one in found]
    for name in hosts:
        did += [f"{name}: {line}" for line in copies.undo(name, id)]
    for name in hosts:
        copies.forget(name, id)
    return did


def undo(copies: Copies, found: Last, report: Reporter) -> Undone:
    started = time.monotonic()
    report(Event("step", "undo", f"{found.fault} on {', '.join(found.hosts)}"))
    done = tuple(put_back(copies, found.id, found.hosts))
    for line in done:
        report(Event("note", "undo", line))
    report(Event("done", "undo", ""))
    return Undone(found, done, time.monotonic() - started)


def find_changes(documents: Iterable[str]) -> tuple[Changed, ...]:
    """Of lists as `kubectl get -o json` prints them: before, as the fix left it, and now. What another object owns is
    created again by that one. Raises RolloutError for anything else."""
    try:
        before, left, now = (index_objects(json.loads(text)["items"]) for text in documents)
    except (ValueError, KeyError, TypeError) as error:
        raise RolloutError("fix-copies", "The copies of the cluster's objects cannot be read.", str(error)) from error
    names = [name for name in {**before, **left} if before.get(name) != left.get(name)]
    # One that is as it was before the fix has been rolled back already.
    return tuple(
        Changed(name, before.get(name), left.get(name), now.get(name) not in (left.get(name), before.get(name)))
        for name in names
    )


def index_objects(items: Iterable[Any]) -> dict[Name, Object]:
    found = {}
    for item in items:
        metadata = item["metadata"]
        if not metadata.get("ownerReferences"):
            found[item["kind"], metadata.get("namespace", ""), metadata["name"]] = strip_server_fields(item)
    return found


def strip_server_fields(item: Mapping[str, Any]) -> Object:
    metadata = {key: value for key, value in item["metadata"].items() if key not in METADATA}
    if notes := {key: value for key, value in metadata.pop("annotations", {}).items() if key != REVISION}:
        metadata["annotations"] = notes
    return {**{key: value for key, value in item.items() if key != "status"}, "metadata": metadata}


def build_replacements(found: Sequence[Changed]) -> Mapping[str, str]:
    """What kubectl is to replace, create and delete, as JSON; empty for nothing."""
    return {
        "REPLACE": dump_list(one.before for one in found if one.before and one.left),
        "CREATE": dump_list(one.before for one in found if one.before and not one.left),
        "DELETE": dump_list(one.left for one in found if one.left and not one.before),
    }


def dump_list(items: Iterable[Object | None]) -> str:
    found = list(items)
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": found}) if found else ""
