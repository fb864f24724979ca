"""The objects that a step applies to the cluster, annotated with a digest, and the comparison with the cluster."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpustack.ask.judge import Result, format_value
from gpustack.files.json_text import dump_json
from gpustack.probes.kubernetes.applied_objects import DIGEST, LABEL, MANAGER, AppliedObject, Path

Object = dict[str, Any]
# Lists whose entries have another key than their name (x-kubernetes-list-map-keys of the API's types).
KEYS = {"ports": ("containerPort", "port", "protocol"), "volumeMounts": ("mountPath",)}
# What the API takes as one, though it has parts (x-kubernetes-map-type: atomic).
ATOMIC_FIELDS = {"selector", "requiredDuringSchedulingIgnoredDuringExecution", "fieldRef"}


def build_object(
    kind: str, api: str, namespace: str, name: str, extra_metadata: Mapping[str, Any], content: Object
) -> Object:
    """Build an object of gpustack. `extra_metadata` has further labels and annotations, `content` is everything beside
    the metadata. An empty namespace is for cluster-scoped objects."""
    labels = {LABEL: MANAGER, **extra_metadata.get("labels", {})}
    annotations = dict(extra_metadata.get("annotations", {}))
    document = dump_json([labels, annotations, content], sort_keys=True, separators=(",", ":"))
    annotations[DIGEST] = hashlib.sha256(document.encode()).hexdigest()
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **content}


def find_object_mismatch(
    subject: str, expected_objects: Sequence[Object], applied_objects: Mapping[str, AppliedObject] | None
) -> Result | None:
    """Find objects that are missing, come from an older spec or release, or were changed by another client."""
    differences: dict[str, list[str]] = {}
    for expected_object in expected_objects:
        metadata = expected_object["metadata"]
        applied_object = (applied_objects or {}).get(f"{metadata.get('namespace', '')}/{metadata['name']}")
        if applied_object is None:
            differences.setdefault("missing", []).append(metadata["name"])
        elif applied_object.digest != metadata["annotations"][DIGEST]:
            differences.setdefault("with different content", []).append(metadata["name"])
        elif not owns_all_fields(expected_object, applied_object):
            differences.setdefault(
                f"changed by {format_value(applied_object.other_managers or 'an unknown client')}", []
            ).append(metadata["name"])
    if not differences:
        return None
    return Result(
        subject,
        "as installed by gpustack",
        "; ".join(f"{format_value(names)} {difference}" for difference, names in differences.items()),
    )


def owns_all_fields(expected_object: Object, applied_object: AppliedObject) -> bool:
    """Tell whether gpustack still owns every field that it applied, whole or in parts."""
    metadata = {key: expected_object["metadata"][key] for key in ("labels", "annotations")}
    content = {key: value for key, value in expected_object.items() if key not in ("apiVersion", "kind", "metadata")}
    return all(
        any(field[: len(path)] == path for field in applied_object.fields)
        for path in list_field_paths({"metadata": metadata, **content})
    )


def list_field_paths(manifest: Any, path: Path = ()) -> Iterator[Path]:
    """List the path of every field, as the API server distinguishes them: of a list, the paths of its entries where
    each has a key."""
    if isinstance(manifest, list) and manifest and all(isinstance(entry, dict) for entry in manifest):
        keys = KEYS.get(path[-1] if path else "", ("name",))
        if all(any(key in entry for key in keys) for entry in manifest):
            manifest = {",".join(str(entry[key]) for key in keys if key in entry): entry for entry in manifest}
    if not isinstance(manifest, dict) or not manifest or (path and path[-1] in ATOMIC_FIELDS):
        yield path
        return
    for key, value in manifest.items():
        yield from list_field_paths(value, (*path, key))
