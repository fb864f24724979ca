"""Objects of the cluster that a fix may have changed, and what restores them.

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
from gpustack.probes.kubernetes.applied_objects import LABEL, MANAGER, Path, list_leaves
from gpustack.remedy.records import Change

Object = Mapping[str, Any]
MANAGERS = {MANAGER, "helm", "kubectl-rollout"}
HELM_MARK = "meta.helm.sh/release-name"
# Fields of the API server, which change with every write.
METADATA = ("managedFields", "resourceVersion", "uid", "generation", "creationTimestamp", "selfLink")
REVISION = "deployment.kubernetes.io/revision"


@dataclass(frozen=True)
class ObjectChange(Change):
    """Hold an object that a fix may have changed, with its content before the fix and its present one, None for
    absent."""

    before: Object | None = None
    current_object: Object | None = None

    @property
    def obstacle(self) -> str:
        return "it was deleted meanwhile" if self.record.after == ABSENT else ""

    @property
    def reader(self) -> Hint:
        """Return the command that shows the object and its writers."""
        document = self.current_object or self.before or {}
        metadata = document["metadata"]
        space = ("-n", metadata["namespace"]) if metadata.get("namespace") else ()
        kind = f"{document['kind']}.{group}" if (group := parse_api_group(document)) else document["kind"]
        return Command("kubectl", *space, "get", kind, metadata["name"], "-o", "yaml", "--show-managed-fields")

    def __str__(self) -> str:
        return f"{self.host}: {self.record.name}"


def compare_objects(host: str, texts: Sequence[str], *, finished: bool) -> tuple[ObjectChange, ...]:
    """Decide about each object that differs from before the fix.

    `texts` are three documents of `kubectl get -o json`, before, after and now, empty for no object. Raises
    RolloutError for anything else. What another object owns is created anew by that one, and left out.
    """
    try:
        before, after, current = (index_objects(text) for text in texts)
        changes = [
            judge_object(host, name, before.get(name), after.get(name), current.get(name), finished=finished)
            for name in {**before, **after, **current}
            if not any(is_owned(documents.get(name)) for documents in (before, after, current))
        ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        message = "The copies of the cluster's objects cannot be read."
        raise RolloutError("fix-copies", message, f"{host}: {type(error).__name__}", NO_HINT) from error
    return tuple(change for change in changes if change.decision != Decision.FORGET)


def judge_object(
    host: str, name: str, before: Object | None, after: Object | None, current_object: Object | None, *, finished: bool
) -> ObjectChange:
    record = Record("object", name, digest_object(before), digest_object(after) if finished else "")
    actual = digest_object(current_object)
    decision = Decision.FORGET if record.after == record.before else decide(record, actual)
    if decision in MAY_CHANGE and after is not None:
        if before is None and not has_mark(after):
            decision = Decision.FOREIGN
        elif not is_own_change(before, after):
            decision = Decision.LATER_CHANGE
    return ObjectChange(host, record, actual, decision, before=before, current_object=current_object)


def index_objects(text: str) -> dict[str, Object]:
    """Index the objects of a document of kubectl by kind, namespace and name."""
    if not text.strip():
        return {}
    document = load_json(text)
    items = document["items"] if document["kind"] == "List" else [document]
    return {name_object(item): item for item in items}


def name_object(document: Object) -> str:
    metadata = document["metadata"]
    kind = f"{document['kind']}.{group}" if (group := parse_api_group(document)) else document["kind"]
    if metadata.get("namespace"):
        return f"{kind} {metadata['namespace']}/{metadata['name']}"
    return f"{kind} {metadata['name']}"


def parse_api_group(document: Object) -> str:
    group, slash, _ = str(document["apiVersion"]).rpartition("/")
    return group if slash else ""


def is_owned(document: Object | None) -> bool:
    return bool(document and document["metadata"].get("ownerReferences"))


def digest_object(document: Object | None) -> str:
    """Return a digest of the content without the fields of the API server, or `absent`."""
    if document is None:
        return ABSENT
    return hashlib.sha256(dump_json(strip_server_fields(document), sort_keys=True).encode()).hexdigest()


def strip_server_fields(document: Object) -> Object:
    metadata = {key: value for key, value in document["metadata"].items() if key not in METADATA}
    if notes := {key: value for key, value in metadata.pop("annotations", {}).items() if key != REVISION}:
        metadata["annotations"] = notes
    return {**{key: value for key, value in document.items() if key != "status"}, "metadata": metadata}


def has_mark(document: Object) -> bool:
    """Tell whether the labels or annotations of an object say that gpustack or Helm made it."""
    metadata = document["metadata"]
    return metadata.get("labels", {}).get(LABEL) == MANAGER or HELM_MARK in metadata.get("annotations", {})


def is_own_change(before: Object | None, after: Object) -> bool:
    """Tell whether gpustack wrote an object during the fix, and nobody else: no other writer has a new time or has
    gained a field. Another writer may have lost a field to gpustack."""
    earlier, later = list_writes(before), list_writes(after)
    own_writers = [writer for writer in later if writer[0] in MANAGERS and later[writer] != earlier.get(writer)]
    other_writers = [writer for writer in later if writer[0] not in MANAGERS]
    return bool(own_writers) and all(
        writer in earlier and later[writer][0] == earlier[writer][0] and later[writer][1] <= earlier[writer][1]
        for writer in other_writers
    )


Writer = tuple[str, str, str]


def list_writes(document: Object | None) -> dict[Writer, tuple[str, frozenset[Path]]]:
    """Return for each writer (manager, operation, subresource) the time of its last write and its fields. Writers of
    the status do not change the content."""
    writes: dict[Writer, tuple[str, frozenset[Path]]] = {}
    for entry in document["metadata"].get("managedFields", ()) if document else ():
        writer = (str(entry["manager"]), str(entry["operation"]), str(entry.get("subresource", "")))
        if writer[2] != "status":
            time, fields = writes.get(writer, ("", frozenset()))
            writes[writer] = (max(time, entry.get("time", "")), fields | set(list_leaves(entry.get("fieldsV1", {}))))
    return writes


def build_replacements(changes: Sequence[ObjectChange]) -> dict[str, str]:
    """Return lines for kubectl with what is to be replaced and deleted, labelled by their place in `changes`.

    Each names the version of the object that was judged: the API refuses the change of a later one.
    """
    return {"REPLACE": "\n".join(build_replaced(changes)), "DELETE": "\n".join(build_deleted(changes))}


def build_replaced(changes: Iterable[ObjectChange]) -> Iterator[str]:
    for number, object_change in enumerate(changes):
        if object_change.before and object_change.current_object:
            content = strip_server_fields(object_change.before)
            version = {"resourceVersion": object_change.current_object["metadata"]["resourceVersion"]}
            yield f"{number}\t{dump_json({**content, 'metadata': {**content['metadata'], **version}})}"


def build_deleted(changes: Iterable[ObjectChange]) -> Iterator[str]:
    for number, object_change in enumerate(changes):
        if object_change.current_object and not object_change.before:
            metadata = object_change.current_object["metadata"]
            conditions = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
            options = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": conditions}
            yield f"{number}\t{build_api_path(object_change.current_object)}\t{dump_json(options)}"


def build_api_path(document: Object) -> str:
    """Return the path of an object in the API. Its resource follows from its kind by the API's rule of plurals."""
    version, kind, metadata = str(document["apiVersion"]), str(document["kind"]).lower(), document["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    space = f"/namespaces/{metadata['namespace']}" if metadata.get("namespace") else ""
    plural = f"{kind}es" if kind.endswith("s") else f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}s"
    return f"{root}{space}/{plural}/{metadata['name']}"
