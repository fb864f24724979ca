"""The objects of the cluster that a fix may have changed: what it changed, and what restores them.

They are read by name, before the fix, after it and now. An object is restored only where gpustack wrote it during the
fix and nobody else did: the API server keeps for each writer the fields that it set, and when (managedFields,
https://kubernetes.io/docs/reference/using-api/server-side-apply).
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpustack.command import NO_HINT, Command, Hint
from gpustack.errors import RolloutError
from gpustack.files.json_text import dump_json, load_json
from gpustack.ownership.decision import MAY_CHANGE, Decision, decide
from gpustack.ownership.record import ABSENT, Record
from gpustack.probes.kubernetes.applied import LABEL, MANAGER, Path, leaves
from gpustack.remedy.records import Change

Object = Mapping[str, Any]
MANAGERS = {MANAGER, "helm", "kubectl-rollout"}
HELM_MARK = "meta.helm.sh/release-name"
# Fields of the API server, which change with every write.
METADATA = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink")
REVISION = "deployment.kubernetes.io/revision"


@dataclass(frozen=True)
class ObjectChange(Change):
    """An object that a fix may have changed, with its content before the fix and its present one, None for absent."""

    before: Object | None = None
    now: Object | None = None

    @property
    def obstacle(self) -> str:
        return "it was deleted meanwhile" if self.record.after == ABSENT else ""

    @property
    def reader(self) -> Hint:
        """Return the command that shows the object and its writers."""
        document = self.now or self.before or {}
        metadata = document["metadata"]
        space = ("-n", metadata["namespace"]) if metadata.get("namespace") else ()
        kind = f"{document['kind']}.{group}" if (group := group_of(document)) else document["kind"]
        return Command("kubectl", *space, "get", kind, metadata["name"], "-o", "yaml", "--show-managed-fields")

    def __str__(self) -> str:
        return f"{self.host}: {self.record.name}"


def compare_objects(host: str, texts: Sequence[str], *, finished: bool) -> tuple[ObjectChange, ...]:
    """Decide about each object that differs from before the fix.

    `texts` are three documents of `kubectl get -o json`, before, after and now, empty for no object. Raises
    RolloutError for anything else. What another object owns is created anew by that one, and left out.
    """
    try:
        before, after, now = (index_objects(text) for text in texts)
        changes = [
            judge_object(host, name, before.get(name), after.get(name), now.get(name), finished=finished)
            for name in {**before, **after, **now}
            if not any(is_owned(documents.get(name)) for documents in (before, after, now))
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = "The copies of the cluster's objects cannot be read."
        raise RolloutError("fix-copies", message, f"{host}: {type(error).__name__}", NO_HINT) from error
    return tuple(one for one in changes if one.decision != Decision.FORGET)


def judge_object(
    host: str, name: str, before: Object | None, after: Object | None, now: Object | None, *, finished: bool
) -> ObjectChange:
    record = Record("object", name, object_state(before), object_state(after) if finished else "")
    actual = object_state(now)
    decision = Decision.FORGET if record.after == record.before else decide(record, actual)
    if decision in MAY_CHANGE and after is not None:
        if before is None and not has_mark(after):
            decision = Decision.FOREIGN
        elif not is_own_change(before, after):
            decision = Decision.CHANGED
    return ObjectChange(host, record, actual, decision, before=before, now=now)


def index_objects(text: str) -> dict[str, Object]:
    """Index the objects of a document of kubectl by kind, namespace and name."""
    if not text.strip():
        return {}
    document = load_json(text)
    items = document["items"] if document["kind"] == "List" else [document]
    return {name_object(item): item for item in items}


def name_object(item: Object) -> str:
    metadata = item["metadata"]
    kind = f"{item['kind']}.{group}" if (group := group_of(item)) else item["kind"]
    return (
        f"{kind} {metadata['namespace']}/{metadata['name']}"
        if metadata.get("namespace")
        else f"{kind} {metadata['name']}"
    )


def group_of(item: Object) -> str:
    group, slash, _ = str(item["apiVersion"]).rpartition("/")
    return group if slash else ""


def is_owned(item: Object | None) -> bool:
    return bool(item and item["metadata"].get("ownerReferences"))


def object_state(item: Object | None) -> str:
    """Return a digest of the content without the fields of the API server, or `absent`."""
    if item is None:
        return ABSENT
    return hashlib.sha256(dump_json(strip_server_fields(item), sort_keys=True).encode()).hexdigest()


def strip_server_fields(item: Object) -> Object:
    metadata = {key: value for key, value in item["metadata"].items() if key not in METADATA}
    if notes := {key: value for key, value in metadata.pop("annotations", {}).items() if key != REVISION}:
        metadata["annotations"] = notes
    return {**{key: value for key, value in item.items() if key != "status"}, "metadata": metadata}


def has_mark(item: Object) -> bool:
    metadata = item["metadata"]
    return metadata.get("labels", {}).get(LABEL) == MANAGER or HELM_MARK in metadata.get("annotations", {})


def is_own_change(before: Object | None, after: Object) -> bool:
    """Say whether gpustack wrote an object during the fix, and nobody else: no other writer has a new time or has
    gained a field. That another writer lost a field is the effect of ours."""
    earlier, later = list_writes(before), list_writes(after)
    own = [writer for writer in later if writer[0] in MANAGERS and later[writer] != earlier.get(writer)]
    others = [writer for writer in later if writer[0] not in MANAGERS]
    return bool(own) and all(
        writer in earlier and later[writer][0] == earlier[writer][0] and later[writer][1] <= earlier[writer][1]
        for writer in others
    )


Writer = tuple[str, str, str]


def list_writes(item: Object | None) -> dict[Writer, tuple[str, frozenset[Path]]]:
    """Return for each writer (manager, operation, subresource) the time of its last write and its fields. Who writes
    the status does not change the content."""
    found: dict[Writer, tuple[str, frozenset[Path]]] = {}
    for entry in item["metadata"].get("managedFields", ()) if item else ():
        writer = (str(entry["manager"]), str(entry["operation"]), str(entry.get("subresource", "")))
        if writer[2] != "status":
            time, fields = found.get(writer, ("", frozenset()))
            found[writer] = (max(time, entry.get("time", "")), fields | set(leaves(entry.get("fieldsV1", {}))))
    return found


def build_replacements(changes: Sequence[ObjectChange]) -> dict[str, str]:
    """Return lines for kubectl with what is to be replaced and deleted, labelled by their place in `changes`.

    Each names the version of the object that was judged: the API refuses the change of a later one.
    """
    return {"REPLACE": "\n".join(build_replaced(changes)), "DELETE": "\n".join(build_deleted(changes))}


def build_replaced(changes: Iterable[ObjectChange]) -> Iterator[str]:
    for number, one in enumerate(changes):
        if one.before and one.now:
            content = strip_server_fields(one.before)
            version = {"resourceVersion": one.now["metadata"]["resourceVersion"]}
            yield f"{number}\t{dump_json({**content, 'metadata': {**content['metadata'], **version}})}"


def build_deleted(changes: Iterable[ObjectChange]) -> Iterator[str]:
    for number, one in enumerate(changes):
        if one.now and not one.before:
            metadata = one.now["metadata"]
            conditions = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
            options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
            yield f"{number}\t{api_path(one.now)}\t{dump_json(options)}"


def api_path(item: Object) -> str:
    """Return the path of an object in the API. Its resource follows from its kind by the API's own rule of plurals."""
    version, kind, metadata = str(item["apiVersion"]), str(item["kind"]).lower(), item["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    space = f"/namespaces/{metadata['namespace']}" if metadata.get("namespace") else ""
    plural = f"{kind}es" if kind.endswith("s") else f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return f"{root}{space}/{plural}/{metadata['name']}"
