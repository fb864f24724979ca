"""Objects that a step wants in the cluster, annotated with a digest, and whether they match."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gpustack.ask.judge import Result, as_text
from gpustack.files.json_text import dump_json
from gpustack.probes.kubernetes.applied import DIGEST, LABEL, MANAGER, Applied, Path

Object = dict[str, Any]
# Lists whose entries have another key than their name (x-kubernetes-list-map-keys of the API's types).
KEYS = {"ports": ("containerPort", "port", "protocol"), "volumeMounts": ("mountPath",)}
# What the API takes as one, though it has parts (x-kubernetes-map-type: atomic).
WHOLE = {"selector", "requiredDuringSchedulingIgnoredDuringExecution", "fieldRef"}


def stamped(kind: str, api: str, namespace: str, name: str, more: Mapping[str, Any], content: Object) -> Object:
    """An object of gpustack. `more` are further labels and annotations, `content` is everything beside the metadata. An
    empty namespace is for cluster-scoped objects."""
    labels = {LABEL: MANAGER, **more.get("labels", {})}
    annotations = dict(more.get("annotations", {}))
    document = dump_json([labels, annotations, content], sort_keys=True, separators=(",", ":"))
    annotations[DIGEST] = hashlib.sha256(document.encode()).hexdigest()
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **content}


def differing(what: str, wanted: Sequence[Object], found: Mapping[str, Applied] | None) -> Result | None:
    """Objects that are missing, come from an older spec or release, or were changed by another client."""
    wrong: dict[str, list[str]] = {}
    for one in wanted:
        metadata = one["metadata"]
        is_now = (found or {}).get(f"{metadata.get('namespace', '')}/{metadata['name']}")
        if is_now is None:
            wrong.setdefault("missing", []).append(metadata["name"])
        elif is_now.digest != metadata["annotations"][DIGEST]:
            wrong.setdefault("with different content", []).append(metadata["name"])
        elif not kept(one, is_now):
            wrong.setdefault(f"changed by {as_text(is_now.others or 'an unknown client')}", []).append(metadata["name"])
    if not wrong:
        return None
    return Result(
        what, "as installed by gpustack", "; ".join(f"{as_text(names)} {how}" for how, names in wrong.items())
    )


def kept(wanted: Object, found: Applied) -> bool:
    """gpustack still owns every field that it applied, whole or in parts."""
    metadata = {key: wanted["metadata"][key] for key in ("labels", "annotations")}
    content = {key: value for key, value in wanted.items() if key not in ("apiVersion", "kind", "metadata")}
    return all(
        any(field[: len(path)] == path for field in found.fields) for path in paths({"metadata": metadata, **content})
    )


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    """Of every field, as the API server tells them apart: of a list, those of its entries where each has a key."""
    if isinstance(value, list) and value and all(isinstance(entry, dict) for entry in value):
        known = KEYS.get(path[-1] if path else "", ("name",))
        if all(any(key in entry for key in known) for entry in value):
            value = {",".join(str(entry[key]) for key in known if key in entry): entry for entry in value}
    if not isinstance(value, dict) or not value or (path and path[-1] in WHOLE):
        yield path
        return
    for key, inner in value.items():
        yield from paths(inner, (*path, key))
